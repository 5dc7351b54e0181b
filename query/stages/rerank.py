"""rerank: a cross-encoder's scores, recorded with the question, move the best candidates."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import ScoringStage


class Rerank(ScoringStage, frozen=True, kw_only=True, tag="rerank"):
    """score(d) ← score(d) · (1 + weight(position) · ce(d)) for the best `top`.

    ce is the cross-encoder's score, min-max normalised over those candidates (all equal: 0.5). The weight is
    that of the first band whose `upto` the candidate's position does not exceed, `beyond` after the last.
    Without recorded scores nothing changes and the sheet says which candidates are wanted. If the scores are
    `expected`, an answer without them says that it is degraded.
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
