"""admit: memories that stand beside a candidate become candidates too."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import distinct
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Admit(Stage, frozen=True, kw_only=True, tag="admit"):
    """The memories before and after each candidate in the session that made it; hard filters hold."""

    beside: Literal["session"] = "session"

    @property
    def title(self) -> str:
        return f"admit neighbours in the {self.beside}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        before, after = ctx.view.conversations.neighbours(sheet.memories[sheet.kept])
        beside = distinct(np.concatenate((before, after)))
        beside = beside[beside >= 0]
        able, rows = ctx.reachable(beside)
        sheet.admit(beside[able].astype(np.int32), rows[able])
