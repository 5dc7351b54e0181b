"""The order of a sheet's candidates: by score to 12 digits, or by what a tie-break stage set, then by id.

From a `derived_from` stage on, a derived memory stands below its sources (`below_sources`), whatever the scores. In a
formula whose text states no `order` it does so from the start: that was the rule of every formula once.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import UNSET, UnsetType

from recollect.events.grid import from_bytes
from recollect.projections.columns import FloatArray, Int32Array
from recollect.projections.portable_math import compared, round12_array
from recollect.query.bounds import Count, NonNegative
from recollect.query.inputs import read
from recollect.query.sheet import Order, RankContext, Reads, Sheet
from recollect.query.stages.stage import ScoringStage, Stage


def best_first(sheet: Sheet, ctx: RankContext) -> list[int]:
    """The places of all candidates that are kept and scored, best first."""
    order = _by_score(sheet, ctx)
    return below_sources(order, sheet, ctx) if sheet.sources_first else order


def _by_score(sheet: Sheet, ctx: RankContext) -> list[int]:
    places = np.flatnonzero(sheet.scored)
    if sheet.order:
        by_id = _by_id(places.tolist(), sheet, ctx)
        return sorted(by_id, key=lambda place: [sort_key(key, place) for key in sheet.order])
    scores = round12_array(sheet.score[places])
    best = np.argsort(-scores)
    order: list[int] = places[best].tolist()
    scores = scores[best]
    first = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1], [True])))  # of each score
    for run in np.flatnonzero(np.diff(first) > 1).tolist():
        tied = slice(int(first[run]), int(first[run + 1]))
        order[tied] = _by_id(order[tied], sheet, ctx)
    return order


def _by_id(places: list[int], sheet: Sheet, ctx: RankContext) -> list[int]:
    ids, memories = ctx.view.documents.ids.values, sheet.memories
    return sorted(places, key=lambda place: ids[memories[place]], reverse=sheet.id_descending)


def sort_key(key: Order, place: int) -> float:
    """The smaller comes first; what has no value comes last."""
    value = float(key.values[place])
    return math.inf if math.isnan(value) else compared(value if key.ascending else -value)


DERIVED_FROM = "derived_from"


class DerivedFrom(Stage, frozen=True, kw_only=True, tag=DERIVED_FROM):
    """A derived memory stands below the sources it was derived from, unless the question is nearer to it.

    From here on a memory with an edge `derived_from` to an older one that is a candidate too comes after it in the
    order, however high its score.

    Except where the question has a vector and lies nearer to the derived memory than to that source. A question in a
    source's own words is nearest to the source, so no summary outranks a source for the source's own text. Stores
    without such edges are ranked as if this stage did not exist.
    """

    @property
    def title(self) -> str:
        return "put derived memories below their sources"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        del ctx  # the edges are read where the order is asked for
        sheet.sources_first = True


def below_sources(order: list[int], sheet: Sheet, ctx: RankContext) -> list[int]:
    """The order with every derived memory right after the last of the sources that it yields to."""
    waiting = _yields(order, sheet, ctx)
    if not waiting:
        return order
    placed: list[int] = []
    held: list[int] = []
    done: set[int] = set()
    for place in order:
        if waiting.get(place, set()) <= done:
            placed.append(place)
            done.add(place)
        else:
            held.append(place)
            continue
        ready = [derived for derived in held if waiting[derived] <= done]
        while ready:
            placed += ready
            done.update(ready)
            held = [derived for derived in held if derived not in done]
            ready = [derived for derived in held if waiting[derived] <= done]
    assert not held, "an edge counts only to an older memory, so there is no circle"
    return placed


def _yields(order: list[int], sheet: Sheet, ctx: RankContext) -> dict[int, set[int]]:
    """For each derived candidate the sources among the candidates that it must stand below."""
    graph, seq = ctx.view.graph, ctx.view.seq
    if not order or DERIVED_FROM not in graph.edges.kinds:  # there never was such an edge
        return {}
    edges = graph.neighbours(sheet.memories[order], seq, direction="out", kinds=(DERIVED_FROM,))
    ranked = set(order)
    found: dict[int, set[int]] = {}
    for derived, source in zip(edges.of.tolist(), edges.memory.tolist(), strict=True):
        below, above = sheet.place(derived), sheet.place(source)
        if source < derived and above in ranked and not _nearer(below, above, sheet, ctx):
            found.setdefault(below, set()).add(above)
    return found


def _nearer(derived: int, source: int, sheet: Sheet, ctx: RankContext) -> bool:
    """Whether the question's vector is nearer to the derived memory than to its source."""
    if ctx.question.vector is None:
        return False
    vectors, at = ctx.view.vectors, ctx.view.seq
    rows: Int32Array = sheet.rows[[derived, source]]
    if not vectors.comparable(rows, at=at).all():
        return False
    to_derived, to_source = vectors.cosines(from_bytes(ctx.question.vector), rows, at=at).tolist()
    return bool(np.greater(to_derived, to_source))


_SEVERAL = 2


class TieBreak(Stage, frozen=True, kw_only=True, tag="tie-break"):
    """When all scores are nearly the same, another order decides.

    If the standard deviation of the scores is below `sigma`, order by these columns, largest first.

    The deviation is the population's, over the kept candidates (fsum, so its bits do not depend on an order). That of
    a lone candidate is 0; whether it counts as a tie is said by `lone`. The sheet's fact `tiebreak_applied` says whether it fired.
    """

    sigma: NonNegative
    by: tuple[str, ...]
    id_descending: bool = False
    lone: bool | UnsetType = UNSET  # not in the texts of before, which mean false

    @property
    def title(self) -> str:
        return f"tie-break below σ {self.sigma:g} by {', '.join(self.by)}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        scores = sheet.score[sheet.scored].tolist()
        enough = len(scores) >= (1 if self.lone is True else _SEVERAL)
        fires = enough and _deviation(scores) < self.sigma
        sheet.facts["tiebreak_applied"] = "true" if fires else "false"
        if fires:
            sheet.order = tuple(Order(name, np.array(read(name, sheet, ctx))) for name in self.by)
            sheet.id_descending = self.id_descending


def _deviation(scores: list[float]) -> float:
    mean = math.fsum(scores) / len(scores)
    return math.sqrt(math.fsum((score - mean) * (score - mean) for score in scores) / len(scores))


class Rerank(ScoringStage, frozen=True, kw_only=True, tag="rerank"):
    """A cross-encoder's scores, recorded with the question, move the best candidates.

    score(d) ← score(d) · (1 + weight(position) · ce(d)) for the best `top`.

    ce is the cross-encoder's score, min-max normalised over those candidates (all equal: 0.5). The weight is
    that of the first band whose `upto` the candidate's position does not exceed, `beyond` after the last.
    A candidate without a recorded score keeps the one that it has, and the sheet says that its score is wanted. If the
    scores are `expected`, an answer without them says that it is degraded.
    """

    top: Count = 20
    upto: tuple[int, ...] = (3, 10)
    weights: tuple[NonNegative, ...] = (0.15, 0.30)
    beyond: NonNegative = 0.50
    expected: bool = False

    @property
    def title(self) -> str:
        return f"rerank the best {self.top}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        order = best_first(sheet, ctx)[: self.top]
        effect = ctx.question.effects.reranked
        if effect is None:
            sheet.wanted = tuple(order)
            return
        ids = ctx.view.documents.ids.values
        raw = np.full(len(sheet), np.nan)
        weight = np.zeros(len(sheet))
        for position, place in enumerate(order, 1):
            raw[place] = effect.scores.get(ids[sheet.memories[place]], np.nan)
            weight[place] = self._weight(position)
        sheet.wanted = tuple(place for place in order if np.isnan(raw[place]))
        low, high = float(np.nanmin(raw, initial=np.inf)), float(np.nanmax(raw, initial=-np.inf))
        reads = {
            "ce": raw,
            "min": np.full(len(sheet), low),
            "max": np.full(len(sheet), high),
            "weight": weight,
        }
        sheet.step(reads, self.combine(sheet.score, reads))

    def _weight(self, position: int) -> float:
        for limit, weight in zip(self.upto, self.weights, strict=True):
            if position <= limit:
                return weight
        return self.beyond

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        spread = reads["max"] - reads["min"]
        even = ~(spread > 0.0)
        ce = np.where(even, 0.5, (reads["ce"] - reads["min"]) / np.where(even, 1.0, spread))
        lifted = before * (1.0 + reads["weight"] * ce)
        return np.where(np.isnan(reads["ce"]), before, lifted)
