"""retrieve: the best memories of one channel become candidates.

Writes a column named after the channel and `<name>.rank` (1, 2, 3, …).
"""

from __future__ import annotations

import msgspec
import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.projections.rounding import round12
from recollect.query.bounds import Count, Finite, Share
from recollect.query.channels import CHANNELS
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.lexical_stage import LexicalStage


class Expanded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Also search with the first `first` rewritings of the question, their values times `discount`.

    The dial `dial` at 0 leaves them out.
    """

    first: Count
    discount: Share = 0.8
    dial: str = ""


class Retrieve(LexicalStage, frozen=True, kw_only=True, tag="retrieve"):
    """The best `top` by the channel's value (at least `per_hit` × k of them), from `min` upwards.

    With `expanded`, a memory that a recorded rewriting of the question finds counts with the larger of its
    values. Without recorded rewritings the sheet says that they are wanted.
    """

    channel: str
    name: str = ""
    top: Count = 100
    per_hit: Count | None = None
    min: Finite | None = None
    expanded: Expanded | None = None

    @property
    def column(self) -> str:
        return self.name or self.channel

    @property
    def title(self) -> str:
        return f"retrieve {self.column} (top {self.top})"

    def depth(self, ctx: RankContext) -> int:
        """How many candidates the channel may give for this question."""
        return self.top if self.per_hit is None else max(self.top, self.per_hit * ctx.question.k)

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        rows, values = self.search(ctx)
        if self._expands(ctx) and ctx.question.effects.expansions is None:
            sheet.expansions_wanted = True
        places = sheet.admit(ctx.view.documents.memory_of[rows], rows)
        sheet.write(self.column, places, values)
        sheet.write(f"{self.column}.rank", places, np.arange(1.0, len(rows) + 1.0))

    def search(self, ctx: RankContext) -> tuple[Int32Array, FloatArray]:
        """The rows that the channel finds, best first, and their values."""
        rows, values = self._found(ctx)
        expansions = ctx.question.effects.expansions
        if expansions and self.expanded and self._expands(ctx):
            others = [self._found(ctx.asking(e.text, e.vector)) for e in expansions[: self.expanded.first]]
            rows, values = self._merged(ctx, (rows, values), others, self.expanded.discount)
        if self.min is None:
            return rows, values
        enough = values >= self.min
        return rows[enough], values[enough]

    def _found(self, ctx: RankContext) -> tuple[Int32Array, FloatArray]:
        if ctx.prefetch is not None and ctx.prefetch.stage is self:
            return ctx.prefetch.take()
        return CHANNELS[self.channel](ctx, self.depth(ctx), self.bm25, self.analyzer)

    def _expands(self, ctx: RankContext) -> bool:
        return self.expanded is not None and ctx.dial(self.expanded.dial) > 0.0

    def _merged(
        self,
        ctx: RankContext,
        own: tuple[Int32Array, FloatArray],
        others: list[tuple[Int32Array, FloatArray]],
        discount: float,
    ) -> tuple[Int32Array, FloatArray]:
        """Each row once, with its largest value, best first, then by memory id."""
        best = dict(zip(own[0].tolist(), own[1].tolist(), strict=True))
        for rows, values in others:
            for row, value in zip(rows.tolist(), (values * discount).tolist(), strict=True):
                best[row] = max(value, best.get(row, value))
        ids, memory_of = ctx.view.documents.ids.values, ctx.view.documents.memory_of
        order = sorted((-round12(value), ids[memory_of[row]], row) for row, value in best.items())
        chosen = [row for _, _, row in order[: self.depth(ctx)]]
        return np.array(chosen, dtype=np.int32), np.array([best[row] for row in chosen], dtype=np.float64)
