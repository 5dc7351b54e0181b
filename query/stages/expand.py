"""expand: memories linked to the best candidates become candidates too."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.linked import admit_linked
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import ScoringStage


class Expand(ScoringStage, frozen=True, kw_only=True, tag="expand"):
    """From the best `seeds`, along edges of at least `min_weight`, up to `hops` away; hard filters hold.

    With `decay`, a memory reached at hop h over an edge of weight w has the score
    max(score(d), score(seed) · decay^h · min(w, 1) · dial), and one that is new and below `min_score` is left
    out. Without it (`decay` 0) memories are only admitted, before scores exist: the seeds are the first
    candidates on the sheet and at most `reach` memories come in (see `linked`). That writes `hop` (1, 2, …) and
    one column `edge.<kind>` = 1 for every kind of edge it was reached by. With `hops_max` a question may choose
    the hops (`context.depth`), clamped to 1 … `hops_max`.
    """

    hops: Count = 1
    hops_max: Count | None = None
    seeds: Count = 5
    reach: Count = 200
    decay: Share = 0.0
    min_weight: NonNegative = 0.0
    min_score: NonNegative = 0.0
    dial: str = ""
    direction: Literal["both", "out", "in"] = "both"

    @property
    def title(self) -> str:
        return f"expand {self.hops} hops along edges"

    def depth(self, ctx: RankContext) -> int:
        """How many hops this question takes."""
        asked = ctx.question.context.depth
        return self.hops if asked is None or self.hops_max is None else min(max(asked, 1), self.hops_max)

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        if self.decay > 0.0:
            self._follow_the_best(sheet, ctx)
        else:
            admit_linked(
                sheet, ctx, sheet.memories[sheet.kept][: self.seeds],
                hops=self.depth(ctx), reach=self.reach, direction=self.direction, min_weight=self.min_weight,
            )  # fmt: skip

    def _follow_the_best(self, sheet: Sheet, ctx: RankContext) -> None:
        """Each seed's neighbourhood at a share of the seed's score; the largest share counts."""
        shares: dict[int, float] = {}
        scale = ctx.dial(self.dial)
        for seed in best_first(sheet, ctx)[: self.seeds]:
            for step in ctx.view.graph.expand(
                [int(sheet.memories[seed])], ctx.view.seq, self.depth(ctx),
                direction=self.direction, min_weight=self.min_weight, admit=lambda found: ctx.reachable(found)[0],
            ):  # fmt: skip
                share = float(sheet.score[seed])
                for _ in range(step.hop):
                    share *= self.decay
                share = share * min(step.weight, 1.0) * scale
                new = sheet.place(step.memory) < 0
                if share > shares.get(step.memory, 0.0) and not (new and share < self.min_score):
                    shares[step.memory] = share
        memories = np.array(list(shares), dtype=np.int32)
        places = sheet.admit(memories, ctx.reachable(memories)[1])
        sheet.write("graph", places, np.array(list(shares.values()), dtype=np.float64))
        reads = {"graph": np.where(sheet.kept, sheet.column("graph"), np.nan)}
        sheet.step(reads, self.combine(sheet.score, reads))

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return np.fmax(before, reads["graph"])
