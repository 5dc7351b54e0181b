"""reply: a share of the score of the memory before, or of the one after."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.bounds import NonNegative
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Reply(ScoringStage, frozen=True, kw_only=True, tag="reply"):
    """score(d) ← score(d) + max(before · score(the one before d), after · score(the one after d))

    Before and after are the memories beside d in the session that made them; one that is no candidate, or not
    scored, counts 0. What follows a turn that matches often answers it without repeating its words, so `before`
    may be worth more than `after`; with both the same this is `echo`.
    """

    before: NonNegative
    after: NonNegative

    @property
    def title(self) -> str:
        return f"reply ({self.before:g} of the one before, {self.after:g} of the one after)"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        before, after = ctx.view.conversations.neighbours(sheet.memories)
        return {"before": _scores_of(sheet, before), "after": _scores_of(sheet, after)}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + np.maximum(self.before * reads["before"], self.after * reads["after"])


def _scores_of(sheet: Sheet, memories: Int32Array) -> FloatArray:
    """The scores of these memories where they are kept candidates, else 0."""
    places = sheet.places(memories)
    scores = np.where(sheet.scored, sheet.score, 0.0)
    return np.where(places >= 0, scores[places], 0.0) if len(scores) else np.zeros(0)
