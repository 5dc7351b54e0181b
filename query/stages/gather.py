"""gather: a share of what the session's best candidates have."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Gather(ScoringStage, frozen=True, kw_only=True, tag="gather"):
    """score(d) ← score(d) + share · (the sum of the best `best` scores in d's session) / best

    A session with fewer candidates has that many less to sum; a memory without a session gets nothing. A
    session in which several turns match is more likely to be the one that is asked about.
    """

    share: NonNegative
    best: Count = 3

    @property
    def title(self) -> str:
        return f"gather {self.share:g} of the session's best {self.best}"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        sessions = ctx.view.conversations.of(sheet.memories)
        level = np.zeros(len(sheet))
        scores = np.where(sheet.scored, sheet.score, 0.0)
        order = np.lexsort((-scores, sessions))
        order = order[sessions[order] >= 0]
        starts = np.flatnonzero(np.diff(sessions[order], prepend=-1))
        lengths = np.diff(starts, append=len(order))
        totals = np.zeros(len(starts))
        for place in range(min(self.best, int(lengths.max(initial=0)))):
            totals[lengths > place] += scores[order[starts[lengths > place] + place]]
        level[order] = np.repeat(totals / self.best, lengths)
        return {"session": level}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + self.share * reads["session"]
