"""What if: recorded traffic under another formula, in another future, with another embedder. No event is written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import msgspec

from recollect.engine import compare_inputs as inputs
from recollect.engine import validate
from recollect.engine.compare_inputs import AnyEmbedder, Queries, Recipe
from recollect.engine.copies import copied
from recollect.engine.fork import make_fork
from recollect.engine.moments import When
from recollect.engine.recall import Standpoint
from recollect.engine.recall_options import K_DEFAULT, refuse_unknown
from recollect.engine.remember import recall_seq
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.transfer import target_of
from recollect.engine.unfinished_files import refuse_existing, unfinished_file
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path
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
from recollect.replay.fork.reembedding import NewEmbedder
from recollect.replay.fork.topic import looks_back

Page = Callable[[Comparison, Callable[[str, int], str]], str]


class CompareOptions(TypedDict, total=False):
    """Over which questions two sides are compared, and how.

    last       only the last so many recorded questions
    recalls    only these recorded questions
    queries    these questions instead, or the file with them; `at` is the moment to ask them at
    qrels      judgements, or the file with them
    k          the depth of the judged metrics (10)
    embedder   rank b in a fork that is embedded with this one; `work` keeps that fork
    html       write a page of it to this file; `overwrite` replaces an existing one
    """

    last: int | None
    recalls: Sequence[str] | None
    queries: Queries | None
    at: When | None
    qrels: str | Path | Judgements | None
    k: int
    embedder: AnyEmbedder | None
    work: str | Path | None
    html: str | Path | None
    overwrite: bool
    progress: Progress | None


def compare(
    here: Standpoint, a: Recipe | None, b: Recipe | None, options: CompareOptions, *, page: Page
) -> Comparison:
    """Every recorded question under two formulas, each at its own past moment; perhaps with a page of it."""
    _check(options)
    html = options.get("html")
    if html is None:
        return _compare(here, a, b, options)
    target, overwrite = target_of(here.store, html), options.get("overwrite", False)
    refuse_existing(target, overwrite=overwrite)
    return _compare_to_page(
        here.store, lambda: _compare(here, a, b, options), target, page, overwrite=overwrite
    )


def _check(options: CompareOptions) -> None:
    """Refuse unknown options, and those that contradict each other."""
    refuse_unknown(options, CompareOptions.__annotations__)
    last, queries, embedder = options.get("last"), options.get("queries"), options.get("embedder")
    validate.whole(options.get("k", K_DEFAULT), "k", low=1, high=validate.K_MAX)
    if last is not None:
        validate.whole(last, "last", low=1, high=10**9)
    if last is not None and queries is not None:
        raise InvalidInput("`last` counts recorded questions; leave it out with a file of questions")
    if options.get("recalls") is not None and (last is not None or queries is not None):
        raise InvalidInput("`recalls` names the questions to compare; leave out `last` and `queries`")
    if options.get("at") is not None and queries is None:
        raise InvalidInput("recorded questions are ranked at their own moments; `at` goes with `queries`")
    if embedder is not None and queries is not None:
        raise InvalidInput("another embedder is compared over the recorded questions; leave out `queries`")
    if options.get("work") is not None and embedder is None:
        raise InvalidInput("`work` is where the fork of another embedder is kept; it goes with `embedder`")


def _compare(here: Standpoint, a: Recipe | None, b: Recipe | None, options: CompareOptions) -> Comparison:
    store, embedder, queries = here.store, options.get("embedder"), options.get("queries")
    store.catch_up()
    before = inputs.side(store, here.formula if a is None else a)
    judged = inputs.judgements(options.get("qrels"))
    if embedder is not None:
        after = inputs.to_embed(store, a if b is None else b, here.formula, given=b is not None)
        return _with_embedder(store, inputs.new_embedder(embedder), options, before, after, judged)
    other = inputs.side(store, here.formula if b is None else b)
    asked = _named(store, options.get("recalls"))
    if queries is not None:
        formulas = [side for side in (before, other) if isinstance(side, Formula)]
        asked = inputs.questions(store, here.embedding, queries, options.get("at"), formulas=formulas)
    return _compared(store, options, before, other, judged, asked)


def _named(store: Store, recalls: Sequence[str] | None) -> list[Asked] | None:
    """These recorded questions, oldest first; None for all of them."""
    if recalls is None:
        return None
    seqs = sorted({recall_seq(recall) for recall in ([recalls] if isinstance(recalls, str) else recalls)})
    return [recorded_question(store.log, store.projections, seq) for seq in seqs]


def _with_embedder(
    store: Store, embedder: NewEmbedder, options: CompareOptions, before: Formula | Side, after: Formula | None,
    judged: Judgements | None,
) -> Comparison:  # fmt: skip
    """Compare with a fork that is embedded by another embedder."""
    progress = options.get("progress")
    with tempfile.TemporaryDirectory(prefix="recollect-fork-") as folder:
        work, passing = options.get("work"), Path(folder)
        target = named_path(work) if work else passing / "fork"
        make_fork(
            store,
            target,
            formula=after,
            embedder=embedder,
            passing=None if work else passing,
            progress=progress,
        )
        if isinstance(before, Formula) and looks_back(before):
            as_it_is = passing / "as-it-is"
            make_fork(store, as_it_is, formula=before, embedder=None, passing=passing, progress=progress)
            before = fork_side(store.log, as_it_is)
        asked = _named(store, options.get("recalls"))
        return _compared(store, options, before, fork_side(store.log, target), judged, asked)


@locked
def _compared(
    store: Store, options: CompareOptions, a: Formula | Side, b: Formula | Side, qrels: Judgements | None,
    questions: list[Asked] | None = None,
) -> Comparison:  # fmt: skip
    return comparing.compare(
        store.log, store.projections, a, b, questions=questions, last=options.get("last"), qrels=qrels,
        k=options.get("k", K_DEFAULT), progress=options.get("progress"),
    )  # fmt: skip


def _compare_to_page(
    store: Store, compared: Callable[[], Comparison], target: Path, page: Page, *, overwrite: bool
) -> Comparison:
    """Compare and write a page; it holds texts, so it is noted as a copy, as an export is."""
    with unfinished_file(target) as file:

        def make() -> tuple[Comparison, int]:
            result = compared()
            file.write(iter([render(store, result, page).encode()]))
            return result, store.log.head

        def put(_: Comparison) -> None:
            file.put(target, overwrite=overwrite)

        result, notes = copied(store, "compare --html", "comparison", file.path, target, make, put)
    return msgspec.structs.replace(result, degraded=notes)


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
