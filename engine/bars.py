"""A ranking as bars: every hit with the parts that its score is made of, and the next ones that lost, with the stage
that lost them. Recorded recalls are replayed; questions that were never recorded are ranked.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from recollect.engine.moments import iso
from recollect.engine.recall import Standpoint, rank_from
from recollect.engine.recall_options import RecallOptions
from recollect.engine.remember import recall_seq
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.facts import Question
from recollect.projections.portable_math import round12
from recollect.projections.view import View
from recollect.query.explain.case import Case
from recollect.query.explain.contributions import Contribution, contributions
from recollect.query.formula import Formula
from recollect.query.sheet import KEPT
from recollect.replay.verify import formula_of
from recollect.replay.why import NothingLeftToExplain, recorded


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A memory in a ranking. `rank` is None for one that is not in the answer; then `lost` says which stage lost it."""

    id: str
    rank: int | None
    score: float | None
    content: str
    kind: str
    at: str
    project: str | None
    session: str | None
    source: str | None
    tags: tuple[str, ...]
    revision: int
    parts: tuple[Contribution, ...]
    lost: str = ""


class RankedBars(msgspec.Struct, frozen=True, kw_only=True):
    """`seen` counts the candidates that the stages saw, `candidates` those that none of them dropped.

    `exact` says whether a replay gave what the log recorded; None for what was not recorded.
    """

    recall: str | None
    query: str
    basis: int
    now: str
    formula: str
    k: int
    seen: int
    candidates: int
    hits: tuple[Bar, ...]
    losers: tuple[Bar, ...]
    exact: bool | None = None
    degraded: tuple[str, ...] = ()


@locked
def recorded_bars(store: Store, recall: str, *, losers: int = 5) -> RankedBars:
    """Rank a recorded recall again at its own basis, formula and clock."""
    store.catch_up()
    seq = recall_seq(recall)
    fact = recorded(store.log, store.projections, seq)
    if fact.formula not in store.projections.adoptions.formulas:
        raise NothingLeftToExplain(f"r{seq} used the formula {fact.formula}, which the log does not hold")
    view = store.projections.at(fact.basis, store.log.time_of(fact.basis))
    formula = formula_of(store.log, store.projections, fact)
    made = _bars(store, fact.question, view, formula, losers)
    return msgspec.structs.replace(
        made,
        recall=f"r{seq}",
        formula=f"{formula.name}@{fact.formula[:12]}",
        exact=tuple((bar.id, bar.score) for bar in made.hits)
        == tuple(zip(fact.ids, fact.scores, strict=True)),
        degraded=fact.degraded,
    )


def ranked_bars(here: Standpoint, query: str, options: RecallOptions, *, losers: int = 5) -> RankedBars:
    """Rank a question, a text or the id of a recall, without recording it, with the parts of every score."""
    ranked = rank_from(here, query, options, words_instead=True)
    made = _locked_bars(here.store, ranked.question, ranked.view, ranked.formula, losers)
    return msgspec.structs.replace(made, degraded=tuple(one.text for one in ranked.degraded))


@locked
def _locked_bars(store: Store, question: Question, view: View, formula: Formula, losers: int) -> RankedBars:
    return _bars(store, question, view, formula, losers)


def _bars(store: Store, question: Question, view: View, formula: Formula, losers: int) -> RankedBars:
    ids = view.documents.ids.values
    empty = RankedBars(
        recall=None, query=question.text, basis=view.seq, now=iso(question.now), formula=formula.label,
        k=question.k, seen=0, candidates=0, hits=(), losers=(),
    )  # fmt: skip
    if not ids:
        return empty
    case = Case(question, view, formula, ids[0])
    order = case.ranking.order
    hits = [_bar(store, case, place, rank=rank) for rank, place in enumerate(order[: question.k], 1)]
    lost = [*order[question.k : question.k + losers], *_dropped(case)][:losers]
    return msgspec.structs.replace(
        empty,
        seen=len(case.sheet.memories),
        candidates=len(order),
        hits=tuple(hits),
        losers=tuple(_bar(store, case, place, rank=None) for place in lost),
    )


def _dropped(case: Case) -> list[int]:
    """The places of the candidates that a stage dropped, the latest drops and best scores first."""
    sheet = case.sheet
    places = np.flatnonzero(sheet.dropped_at != KEPT).tolist()
    return sorted(places, key=lambda place: (-int(sheet.dropped_at[place]), -_score(case, place), place))


def _score(case: Case, place: int) -> float:
    steps = case.steps(place)
    return steps[-1].after if steps and not math.isnan(steps[-1].after) else -math.inf


def _bar(store: Store, case: Case, place: int, *, rank: int | None) -> Bar:
    view, memory = case.view, int(case.sheet.memories[place])
    state = view.lifecycle.state(memory, view.seq)
    steps = case.steps(place)
    after = steps[-1].after if steps else math.nan
    return Bar(
        id=view.documents.ids.values[memory],
        rank=rank,
        score=None if math.isnan(after) else round12(after),
        content=store.content_of_row(view.documents.newest_row(memory, view.seq)),
        kind=state.kind,
        at=iso(state.created_at),
        project=state.project,
        session=state.session,
        source=state.source,
        tags=state.tags,
        revision=state.revision_count,
        parts=contributions(case.formula.stages, steps),
        lost="" if rank is not None else _lost(case, place),
    )


def _lost(case: Case, place: int) -> str:
    dropped = int(case.sheet.dropped_at[place])
    if dropped == KEPT:
        return f"ranked {case.ranking.order.index(place) + 1}, and {case.question.k} were asked for"
    return f"stage {dropped + 1}: {case.formula.stages[dropped].title}"
