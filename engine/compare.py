"""What if: recorded traffic under another formula, in another future, with another embedder. Mixed into `Memory`.

Comparing and forking write no event; `reembed` does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from recollect.engine import validate
from recollect.engine.embedding.embedder import EmbedderMismatch, choose
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.explain import recall_seq
from recollect.engine.formula_lookup import formula_named
from recollect.engine.moments import When
from recollect.engine.store import Progress, Store
from recollect.events.errors import InvalidInput
from recollect.query.formula import Formula

if TYPE_CHECKING:
    from recollect.engine.compare_inputs import AnyEmbedder, DreamSettings, Queries, Recipe
    from recollect.engine.reembed import ReembedReport
    from recollect.replay.compare.comparison import Comparison
    from recollect.replay.compare.drill import Drilldown
    from recollect.replay.compare.judgements import Judgements
    from recollect.replay.compare.recorded_questions import Asked
    from recollect.replay.compare.sides import Side
    from recollect.replay.fork.fork import ForkReport


class Comparing:
    """What an open store says about other ways of ranking."""

    _store: Store
    _embedding: Embedding
    _formula: Formula
    _actor: str

    def compare(
        self,
        a: Recipe | None = None,
        b: Recipe | None = None,
        *,
        last: int | None = None,
        queries: Queries | None = None,
        at: When | None = None,
        qrels: str | Path | Judgements | None = None,
        k: int = 10,
        embedder: AnyEmbedder | None = None,
        work: str | Path | None = None,
        html: str | Path | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Comparison:
        """Every recorded question under two formulas, each at its own past moment; no event is written.

        A side is a formula (a built-in name, the path of a TOML file, name@digest of one in the log), the
        directory of a fork, or "recorded"; the formula in force if it is not given. `queries` are asked at the
        head, or `at` a moment, instead. With `embedder`, b ranks in a fork that is embedded with it (each recall
        under its own formula if a is "recorded" and b is not given); `work` is where that fork is kept, so that it
        can go on where it stopped. `html` names a file for a page of it (`comparison_html`), which replaces one that
        exists only with `overwrite`.
        """
        _check(last=last, k=k, queries=queries, at=at, embedder=embedder, work=work)

        def make() -> Comparison:
            return self._compare(
                a, b, last=last, queries=queries, at=at, qrels=qrels, k=k, embedder=embedder, work=work,
                progress=progress,
            )  # fmt: skip

        if html is None:
            return make()
        return self._write_report(html, make, overwrite=overwrite)

    def _write_report(
        self, path: str | Path, make: Callable[[], Comparison], *, overwrite: bool
    ) -> Comparison:
        """Compare, and write the page; it holds texts, so it is a copy as an export is."""
        from recollect.engine.copies import note_copy, note_moved, note_unfinished, without_erased  # noqa: PLC0415
        from recollect.engine.transfer import target_of  # noqa: PLC0415
        from recollect.engine.unfinished_files import refuse_existing, unfinished_file  # noqa: PLC0415

        target = target_of(self._store, path)
        refuse_existing(target, overwrite=overwrite)
        notes: list[str] = []
        with unfinished_file(target) as file:
            note_unfinished(self._store, file.path, "comparison")

            def make_page() -> Comparison:
                result = make()
                file.write(iter([self.comparison_html(result).encode()]))
                return result

            def finish(_: Comparison) -> None:
                noted = note_copy(self._store, target, "comparison", upto=self._store.log.head)
                notes.extend(filter(None, [noted]))
                file.put(target, overwrite=overwrite)
                note_moved(self._store, file.path)

            result = without_erased(self._store, "compare --html", make_page, finish)
        return msgspec.structs.replace(result, degraded=tuple(notes))

    def _compare(
        self,
        a: Recipe | None,
        b: Recipe | None,
        *,
        last: int | None,
        queries: Queries | None,
        at: When | None,
        qrels: str | Path | Judgements | None,
        k: int,
        embedder: AnyEmbedder | None,
        work: str | Path | None,
        progress: Progress | None,
    ) -> Comparison:
        from recollect.engine import compare_inputs as inputs  # noqa: PLC0415 (opening a store does not wait for this)
        from recollect.replay.fork.topic import looks_back  # noqa: PLC0415

        self._store.catch_up()
        before = inputs.side(self._store, self._formula if a is None else a)
        judged = inputs.judgements(qrels)
        if embedder is not None:
            after = inputs.to_embed(self._store, a if b is None else b, self._formula, given=b is not None)
            with tempfile.TemporaryDirectory(prefix="recollect-fork-") as folder:
                target = Path(work).expanduser() if work else Path(folder) / "fork"
                passing = None if work else Path(folder)
                switched = self._forked(target, after, embedder, progress, passing=passing)
                if isinstance(before, Formula) and looks_back(before):
                    before = self._forked(
                        Path(folder) / "as-it-is", before, None, progress, passing=Path(folder)
                    )
                return self._compared(before, switched, last=last, qrels=judged, k=k, progress=progress)
        other = inputs.side(self._store, self._formula if b is None else b)
        formulas = [side for side in (before, other) if isinstance(side, Formula)]
        asked = (
            None
            if queries is None
            else inputs.questions(self._store, self._embedding, queries, at, formulas=formulas)
        )
        return self._compared(before, other, asked, last=last, qrels=judged, k=k, progress=progress)

    def _compared(
        self,
        a: Formula | Side,
        b: Formula | Side,
        questions: list[Asked] | None = None,
        *,
        last: int | None,
        qrels: Judgements | None,
        k: int,
        progress: Progress | None,
    ) -> Comparison:
        from recollect.replay.compare.compare import compare  # noqa: PLC0415

        with self._store.lock, self._store.whole:
            log, projections = self._store.log, self._store.projections
            return compare(
                log, projections, a, b, questions=questions, last=last, qrels=qrels, k=k, progress=progress
            )

    def _forked(
        self, target: Path, formula: Formula | None, embedder: AnyEmbedder | None, progress: Progress | None,
        *, passing: Path | None,
    ) -> Side:  # fmt: skip
        """This log as it would be had it been ranked, or embedded, otherwise, as a side."""
        from recollect.engine.compare_inputs import new_embedder  # noqa: PLC0415
        from recollect.engine.fork import make_fork  # noqa: PLC0415
        from recollect.replay.fork.fork import fork_side  # noqa: PLC0415

        make_fork(
            self._store,
            target,
            formula=formula,
            embedder=None if embedder is None else new_embedder(embedder),
            passing=passing,
            progress=progress,
        )
        return fork_side(self._store.log, target)

    def drill(self, recall: str, a: Recipe, b: Recipe) -> Drilldown:
        """One recorded question under two formulas: every memory of either answer, explained both ways.

        "recorded" is the formula that the question was answered with.
        """
        from recollect.engine.compare_inputs import to_drill  # noqa: PLC0415
        from recollect.replay.compare.drill import drill  # noqa: PLC0415
        from recollect.replay.compare.recorded_questions import recorded_question  # noqa: PLC0415

        self._store.catch_up()
        with self._store.lock, self._store.whole:
            log, projections = self._store.log, self._store.projections
            asked = recorded_question(log, projections, recall_seq(recall))
            before, after = (to_drill(self._store, given or self._formula, asked) for given in (a, b))
            return drill(log, projections, asked, before, after)

    def comparison_html(self, comparison: Comparison) -> str:
        """The comparison as one self-contained page with slope charts."""
        from recollect.interfaces.common.compare_html import page  # noqa: PLC0415
        from recollect.replay.compare.movers import text_of  # noqa: PLC0415

        log, projections = self._store.log, self._store.projections
        with self._store.lock, self._store.whole:
            return page(comparison, lambda id_, seq: text_of(log, projections, id_, seq))

    def fork(
        self,
        to: str | Path,
        *,
        formula: Recipe | None = None,
        closed_loop: bool = False,
        since: When = 0,
        dream: DreamSettings | None = None,
        progress: Progress | None = None,
    ) -> ForkReport:
        """Live the log after `since` again, in a store of its own; this one only notes where that is.

        Recalls rank under `formula`, or each under its own if None. In a closed loop, what was read follows
        what the formula returned, and with `dream` every night is dreamt again with these settings; without,
        recorded dreams stay as they are.
        """
        from recollect.engine import compare_inputs as inputs  # noqa: PLC0415
        from recollect.engine.fork import make_fork  # noqa: PLC0415

        self._store.require_whole("fork")
        cache = self._store.cache
        return make_fork(
            self._store,
            Path(to).expanduser(),
            since=self._store.view(self._store.resolve(since)[0]).seq,
            formula=None if formula is None else formula_named(self._store.projections.adoptions, formula),
            closed_loop=closed_loop,
            dreaming=None if dream is None else inputs.dreaming(dream),
            shard_dir=None if cache is None else cache / "shards",
            progress=progress,
        )

    def reembed(self, embedder: AnyEmbedder, *, progress: Progress | None = None) -> ReembedReport:
        """Give every memory a vector of another embedder, as events; the past keeps the old vectors.

        Interrupted, it goes on where it stopped when it is called again.
        """
        from recollect.engine import reembed as reembedding  # noqa: PLC0415

        chosen = choose(embedder)
        if chosen is None:
            raise InvalidInput("re-embedding needs an embedder; name one, such as 'minilm' or 'hash'")
        report = reembedding.reembed(self._store, chosen, actor=self._actor, progress=progress)
        self._embedding = Embedding(chosen, self._store.projections.adoptions.embedder(self._store.log.head))
        return report

    def _require_same_embedder(self, seq: int) -> None:
        """Refuse to go on with an embedder that somebody else's `reembed` has replaced by `seq`."""
        adopted, own = self._store.projections.adoptions.embedder(seq), self._embedding.embedder
        if own is not None and adopted is not None and adopted.label != own.name:
            raise EmbedderMismatch(store=adopted.label, given=own.name)


def _check(
    *, last: int | None, k: int, queries: Queries | None, at: When | None, embedder: AnyEmbedder | None,
    work: str | Path | None,
) -> None:  # fmt: skip
    """Refuse what does not go together before anything is ranked."""
    validate.whole(k, "k", low=1, high=validate.K_MAX)
    if last is not None:
        validate.whole(last, "last", low=1, high=10**9)
    if last is not None and queries is not None:
        raise InvalidInput("`last` counts recorded questions; leave it out with a file of questions")
    if at is not None and queries is None:
        raise InvalidInput("recorded questions are ranked at their own moments; `at` goes with `queries`")
    if embedder is not None and queries is not None:
        raise InvalidInput("another embedder is compared over the recorded questions; leave out `queries`")
    if work is not None and embedder is None:
        raise InvalidInput("`work` is where the fork of another embedder is kept; it goes with `embedder`")
