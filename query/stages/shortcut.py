"""shortcut: when one column is decisive, its values are the scores and the stages up to a label are skipped."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Shortcut(ScoringStage, frozen=True, kw_only=True, tag="shortcut"):
    """Fires if the column's best value is ≥ `min`, there are at least `at_least` values, and the second best
    lies at least `gap` below. Then score(d) = column(d), candidates without a value are dropped, and the next
    stage is the one with the label `to`. The sheet's fact `shortcut` names the column that fired.
    """

    column: str
    to: str
    min: NonNegative
    gap: NonNegative = 0.0
    at_least: int = 1

    @property
    def title(self) -> str:
        return f"shortcut to {self.to!r} if {self.column} is decisive"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = np.where(sheet.kept, read(self.column, sheet, ctx), np.nan)
        best = np.sort(values[~np.isnan(values)])[::-1]
        if len(best) < max(self.at_least, 1) or best[0] < self.min:
            return
        if self.gap > 0.0 and (len(best) < 2 or best[0] - best[1] < self.gap):
            return
        sheet.drop(np.isnan(values), had=values, needed=np.full(len(sheet), self.min))
        sheet.step({self.column: values}, values)
        sheet.jump = self.to
        sheet.facts["shortcut"] = self.column

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        del before  # the column replaces it
        return reads[self.column]
