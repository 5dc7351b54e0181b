"""rank: candidates ranked by a column, as `<name>.rank`."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count
from recollect.query.inputs import read
from recollect.query.portable_math import compared
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class RankBy(Stage, frozen=True, kw_only=True, tag="rank"):
    """Ranks start at 1; only candidates with a value are ranked, the largest first unless `ascending`.

    Equal values (to 12 digits; whole numbers exactly) share a rank: `dense` gives 1 2 2 3, `competition`
    1 2 2 4, `ordinal` breaks the tie by memory id. With `per_hit` only the best `per_hit` × k are ranked.
    """

    by: str
    name: str = ""
    ties: Literal["dense", "competition", "ordinal"] = "dense"
    ascending: bool = False
    per_hit: Count | None = None

    @property
    def title(self) -> str:
        return f"rank by {self.by} ({self.ties})"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = np.where(sheet.kept, read(self.by, sheet, ctx), np.nan)
        ids = ctx.view.documents.ids.values
        sign = 1.0 if self.ascending else -1.0
        order = sorted(
            (sign * compared(value), ids[memory], place)
            for place, (value, memory) in enumerate(
                zip(values.tolist(), sheet.memories.tolist(), strict=True)
            )
            if value == value  # noqa: PLR0124 (NaN: no value, no rank)
        )
        order = order if self.per_hit is None else order[: self.per_hit * ctx.question.k]
        sheet.columns[f"{self.name or self.by}.rank"] = self._ranks(order, len(sheet))

    def _ranks(self, order: list[tuple[float, str, int]], size: int) -> FloatArray:
        ranks = np.full(size, np.nan)
        rank, previous = 0, None
        for position, (value, _, place) in enumerate(order, 1):
            if value != previous or self.ties == "ordinal":
                rank = rank + 1 if self.ties == "dense" else position
            ranks[place], previous = rank, value
        return ranks
