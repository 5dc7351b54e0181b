"""cut: at most so many hits, or so many tokens, leave the ranking."""

from __future__ import annotations

import numpy as np

from recollect.query.bounds import Count
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import Stage

_BYTES_PER_TOKEN = 4


class Cut(Stage, frozen=True, kw_only=True, tag="cut"):
    """The best `top` stay; with `tokens`, those that fit the budget, best first.

    A memory costs ceil(bytes / 4) tokens and is never split: one that does not fit is passed over and smaller
    ones after it may still fit (greedy fill).
    """

    top: Count | None = None
    tokens: Count | None = None

    @property
    def title(self) -> str:
        return f"cut to {self.top} hits" if self.tokens is None else f"cut to {self.tokens} tokens"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        order = best_first(sheet, ctx)
        if self.top is not None and len(order) > self.top:
            losers = np.zeros(len(sheet), dtype=np.bool_)
            losers[order[self.top :]] = True
            last = np.full(len(sheet), sheet.score[order[self.top - 1]])
            sheet.drop(losers, had=sheet.score, needed=last)
        if self.tokens is not None:
            self._fill(sheet, ctx, order, self.tokens)

    def _fill(self, sheet: Sheet, ctx: RankContext, order: list[int], budget: int) -> None:
        cost = -(-ctx.view.documents.bytes_of(sheet.rows) // _BYTES_PER_TOKEN)
        losers, left = np.zeros(len(sheet), dtype=np.bool_), budget
        needed = np.full(len(sheet), np.nan)
        for place in order:
            if cost[place] <= left:
                left -= int(cost[place])
            else:
                losers[place], needed[place] = True, left
        sheet.columns["tokens"] = cost.astype(np.float64)
        sheet.drop(losers, had=sheet.columns["tokens"], needed=needed)
