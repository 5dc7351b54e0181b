"""compute: a factor's values as a column; the score stays as it is."""

from __future__ import annotations

from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.factor_stage import FactorStage


class Compute(FactorStage, frozen=True, kw_only=True, tag="compute"):
    """column(d) ← factor(d), under the factor's name or another `name`; later stages weigh, rank or scale it."""

    name: str = ""

    @property
    def column(self) -> str:
        return self.name or super().column

    @property
    def title(self) -> str:
        return f"compute {self.name} ({self.factor})" if self.name else f"compute {self.factor}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        self.values(sheet, ctx)
