"""look-up: a number for every candidate from a table by its kind."""

from __future__ import annotations

import numpy as np

from recollect.query.bounds import Finite
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class LookUp(Stage, frozen=True, kw_only=True, tag="look-up"):
    """column(d) ← table[kind of d], `default` for a kind that is not listed; letter case does not matter.

    In a formula file `table` may be the name of one of its `[tables.…]`.
    """

    table: dict[str, Finite]
    name: str
    default: Finite = 1.0

    @property
    def title(self) -> str:
        return f"look up {self.name} by kind"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        columns = ctx.lifecycle(sheet)
        listed = {kind.lower(): value for kind, value in self.table.items()}
        kinds, places = np.unique(columns.kind, return_inverse=True)
        found = [listed.get((kind or "").lower(), self.default) for kind in columns.texts(kinds)]
        sheet.columns[self.name] = np.array(found, dtype=np.float64)[places]
