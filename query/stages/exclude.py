"""exclude: candidates of some kinds are dropped, unless the question asks for them by name."""

from __future__ import annotations

import numpy as np

from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Exclude(Stage, frozen=True, kw_only=True, tag="exclude"):
    """Drops candidates whose kind is one of `kinds`; a kind that the filters name stays."""

    kinds: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"exclude {', '.join(self.kinds)}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        unwanted = {kind.lower() for kind in self.kinds} - {k.lower() for k in ctx.question.filters.kinds}
        columns = ctx.lifecycle(sheet)
        kinds, places = np.unique(columns.kind, return_inverse=True)
        refused = [(kind or "").lower() in unwanted for kind in columns.texts(kinds)]
        losers = np.array(refused, dtype=np.bool_)[places]
        sheet.drop(losers, had=losers.astype(np.float64), needed=np.zeros(len(sheet)))
