"""add: the score plus a weighted factor."""

from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Finite
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.factor_stage import FactorStage


class Add(FactorStage, frozen=True, kw_only=True, tag="add"):
    """score(d) ← score(d) + scale · factor(d)"""

    scale: Finite = 1.0

    @property
    def title(self) -> str:
        return f"add {self.factor}" if self.scale == 1.0 else f"add {self.scale:g} × {self.factor}"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        return {self.column: self.values(sheet, ctx)}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + self.scale * reads[self.column]
