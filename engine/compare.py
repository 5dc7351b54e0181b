"""What if: recorded traffic under another formula, in another future, with another embedder. No event is written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from recollect.engine import compare_inputs as inputs
from recollect.engine import validate
from recollect.engine.compare_inputs import AnyEmbedder, Queries, Recipe
from recollect.engine.copies import note_copy, note_moved, note_unfinished, without_erased
from recollect.engine.fork import make_fork
from recollect.engine.moments import When
from recollect.engine.recall import Standpoint
from recollect.engine.remember import recall_seq
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.transfer import target_of
from recollect.engine.unfinished_files import refuse_existing, unfinished_file
from recollect.events.errors import InvalidInput
from recollect.query.formula import Formula
from recollect.replay.compare import compare as comparing
from recollect.replay.compare import drill as drilling
from recollect.replay.compare.comparison import Comparison
from recollect.replay.compare.drill import Drilldown
from recollect.replay.compare.judgements import Judgements
from recollect.replay.compare.movers import text_of
from recollect.replay.compare.recorded_questions import Asked, recorded_question
from recollect.replay.compare.sides import Side
from recollect.replay.fork.fork import fork_side
from recollect.replay.fork.topic import looks_back

Page = Callable[[Comparison, Callable[[str, int], str]], str]


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, over which questions, and how; options that contradict each other are refused."""

    a: Recipe | None
    b: Recipe | None
    last: int | None
    recalls: Sequence[str] | None
    queries: Queries | None
    at: When | None
    qrels: str | Path | Judgements | None
    k: int
    embedder: AnyEmbedder | None
    work: str | Path | None
    progress: Progress | None

    def __post_init__(self) -> None:
        validate.whole(self.k, "k", low=1, high=validate.K_MAX)
        if self.last is not None:
            validate.whole(self.last, "last", low=1, high=10**9)
        if self.last is not None and self.queries is not None:
            raise InvalidInput("`last` counts recorded questions; leave it out with a file of questions")
        if self.recalls is not None and (self.last is not None or self.queries is not None):
            raise InvalidInput("`recalls` names the questions to compare; leave out `last` and `queries`")
        if self.at is not None and self.queries is None:
            raise InvalidInput("recorded questions are ranked at their own moments; `at` goes with `queries`")
        if self.embedder is not None and self.queries is not None:
            raise InvalidInput(
                "another embedder is compared over the recorded questions; leave out `queries`"
            )
        if self.work is not None and self.embedder is None:
            raise InvalidInput(
                "`work` is where the fork of another embedder is kept; it goes with `embedder`"
            )


def compare(here: Standpoint, options: CompareOptions) -> Comparison:
    """Every recorded question under two formulas, each at its own past moment."""
    store, a, b = here.store, options.a, options.b
    store.catch_up()
    before = inputs.side(store, here.formula if a is None else a)
    judged = inputs.judgements(options.qrels)
    if options.embedder is not None:
        return _with_embedder(here, options, before, judged)
    other = inputs.side(store, here.formula if b is None else b)
    asked = _named(store, options.recalls)
    if options.queries is not None:
        formulas = [side for side in (before, other) if isinstance(side, Formula)]
        asked = inputs.questions(store, here.embedding, options.queries, options.at, formulas=formulas)
    return _compared(store, options, before, other, judged, asked)


def _named(store: Store, recalls: Sequence[str] | None) -> list[Asked] | None:
    """These recorded questions, oldest first; None for all of them."""
    if recalls is None:
        return None
    seqs = sorted({recall_seq(recall) for recall in ([recalls] if isinstance(recalls, str) else recalls)})
    return [recorded_question(store.log, store.projections, seq) for seq in seqs]


def _with_embedder(
    here: Standpoint, options: CompareOptions, before: Formula | Side, judged: Judgements | None
) -> Comparison:
    """Compare with a fork that is embedded by another embedder."""
    store, a, b = here.store, options.a, options.b
    assert options.embedder is not None
    after = inputs.to_embed(store, a if b is None else b, here.formula, given=b is not None)
    with tempfile.TemporaryDirectory(prefix="recollect-fork-") as folder:
        work, passing = options.work, Path(folder)
        target = Path(work).expanduser() if work else passing / "fork"
        make_fork(
            store,
            target,
            formula=after,
            embedder=inputs.new_embedder(options.embedder),
            passing=None if work else passing,
            progress=options.progress,
        )
        if isinstance(before, Formula) and looks_back(before):
            as_it_is = passing / "as-it-is"
            make_fork(
                store, as_it_is, formula=before, embedder=None, passing=passing, progress=options.progress
            )
            before = fork_side(store.log, as_it_is)
        asked = _named(store, options.recalls)
        return _compared(store, options, before, fork_side(store.log, target), judged, asked)


@locked
def _compared(
    store: Store, options: CompareOptions, a: Formula | Side, b: Formula | Side, qrels: Judgements | None,
    questions: list[Asked] | None = None,
) -> Comparison:  # fmt: skip
    return comparing.compare(
        store.log, store.projections, a, b, questions=questions, last=options.last, qrels=qrels, k=options.k,
        progress=options.progress,
    )  # fmt: skip


def compare_to_page(
    here: Standpoint, options: CompareOptions, path: str | Path, page: Page, *, overwrite: bool
) -> Comparison:
    """Compare and write a page; it holds texts, so it is noted as a copy, as an export is."""
    store = here.store
    target = target_of(store, path)
    refuse_existing(target, overwrite=overwrite)
    notes: list[str] = []
    with unfinished_file(target) as file:
        note_unfinished(store, file.path, "comparison")

        def make() -> Comparison:
            result = compare(here, options)
            file.write(iter([render(store, result, page).encode()]))
            return result

        def finish(_: Comparison) -> None:
            notes.extend(filter(None, [note_copy(store, target, "comparison", upto=store.log.head)]))
            file.put(target, overwrite=overwrite)
            note_moved(store, file.path)

        result = without_erased(store, "compare --html", make, finish)
    return msgspec.structs.replace(result, degraded=tuple(notes))


@locked
def render(store: Store, comparison: Comparison, page: Page) -> str:
    """A page of the comparison, which may ask for the texts of memories."""
    return page(comparison, lambda id_, seq: text_of(store.log, store.projections, id_, seq))


@locked
def drill(here: Standpoint, recall: str, a: Recipe, b: Recipe) -> Drilldown:
    """One recorded question under two formulas: every memory of either answer, explained both ways."""
    store = here.store
    store.catch_up()
    asked = recorded_question(store.log, store.projections, recall_seq(recall))
    before, after = (inputs.to_drill(store, given or here.formula, asked) for given in (a, b))
    return drilling.drill(store.log, store.projections, asked, before, after)
