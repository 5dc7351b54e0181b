"""filter: candidates whose value is out of bounds are dropped."""

from __future__ import annotations

import numpy as np

from recollect.query.bounds import Finite
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Filter(Stage, frozen=True, kw_only=True, tag="filter"):
    """Keeps min ≤ value ≤ max; a candidate without the value stays unless it is `required`.

    The hard filters (alive, not expired, in scope) are no stage: they hold for every candidate from the start.
    """

    by: str
    min: Finite | None = None
    max: Finite | None = None
    required: bool = False

    @property
    def title(self) -> str:
        low = "" if self.min is None else f"{self.min:g} ≤ "
        high = "" if self.max is None else f" ≤ {self.max:g}"
        return f"filter {low}{self.by}{high}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = read(self.by, sheet, ctx)
        if self.min is not None:
            sheet.drop(values < self.min, had=values, needed=np.full(len(sheet), self.min))
        if self.max is not None:
            sheet.drop(values > self.max, had=values, needed=np.full(len(sheet), self.max))
        if self.required:
            sheet.drop(np.isnan(values), had=values, needed=values)
