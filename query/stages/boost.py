"""boost: small fixed amounts on top of the score, one for each column that fires."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Finite, NonNegative
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Boost(ScoringStage, frozen=True, kw_only=True, tag="boost"):
    """score(d) ← score(d) + min(Σ amount_i · column_i(d), cap), in the order of the columns' names.

    A column is one that a stage wrote or a named input, 0 where a candidate has none. Without `cap` the sum
    counts in full.
    """

    amounts: dict[str, Finite]
    cap: NonNegative | None = None

    @property
    def title(self) -> str:
        return "boost by " + ", ".join(f"{amount:+g} {name}" for name, amount in sorted(self.amounts.items()))

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        columns = {name: read(name, sheet, ctx) for name in sorted(self.amounts)}
        return {name: np.where(np.isnan(values), 0.0, values) for name, values in columns.items()}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        total = np.zeros(len(before))
        for name, amount in sorted(self.amounts.items()):
            total = total + amount * reads[name]
        return before + (total if self.cap is None else np.minimum(total, self.cap))
