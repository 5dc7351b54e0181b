"""multiply: the score times one factor."""

from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.factor_stage import FactorStage


class Multiply(FactorStage, frozen=True, kw_only=True, tag="multiply"):
    """score(d) ← score(d) · factor(d)"""

    @property
    def title(self) -> str:
        return f"multiply by {self.factor}"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        return {self.column: self.values(sheet, ctx)}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before * reads[self.column]
