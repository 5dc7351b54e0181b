"""raise: the score is at least a share of a column."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Raise(ScoringStage, frozen=True, kw_only=True, tag="raise"):
    """score(d) ← max(score(d), scale · column(d)); a candidate without a score starts from the column."""

    column: str
    scale: NonNegative = 1.0

    @property
    def title(self) -> str:
        return f"raise to {self.scale:g} × {self.column}"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        return {self.column: np.where(sheet.kept, read(self.column, sheet, ctx), np.nan)}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return np.fmax(before, self.scale * reads[self.column])
