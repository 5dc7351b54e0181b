"""echo: a share of the better neighbour's score."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.bounds import NonNegative
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Echo(ScoringStage, frozen=True, kw_only=True, tag="echo"):
    """score(d) ← score(d) + share · max(score(before), score(after))

    before and after are the memories beside d in the session that made them; one that is no candidate, or not
    scored, counts 0. In a conversation the turn that answers often does not repeat the words of the question.
    """

    share: NonNegative

    @property
    def title(self) -> str:
        return f"echo {self.share:g} of the better neighbour"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        before, after = ctx.view.conversations.neighbours(sheet.memories)
        return {"neighbour": np.maximum(_scores(sheet, before), _scores(sheet, after))}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + self.share * reads["neighbour"]


def _scores(sheet: Sheet, memories: Int32Array) -> FloatArray:
    """The scores of these memories where they are kept candidates, else 0."""
    places = sheet.places(memories)
    scores = np.where(sheet.scored, sheet.score, 0.0)
    return np.where(places >= 0, scores[places], 0.0) if len(scores) else np.zeros(0)
