"""Stages that look at the session that made a memory: what stands beside it becomes a candidate or lends its score."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array, distinct
from recollect.query.bounds import Count, NonNegative
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage, Stage


class Admit(Stage, frozen=True, kw_only=True, tag="admit"):
    """Memories that stand beside a candidate become candidates too.

    The memories before and after each candidate in the session that made it; hard filters hold.
    """

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


class Echo(ScoringStage, frozen=True, kw_only=True, tag="echo"):
    """A share of the better neighbour's score.

    score(d) ← score(d) + share · max(score(before), score(after))

    before and after are the memories beside d in the session that made them; one that is no candidate, or not
    scored, counts 0. In a conversation the turn that answers often does not repeat the words of the question.
    """

    share: NonNegative

    @property
    def title(self) -> str:
        return f"echo {self.share:g} of the better neighbour"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        before, after = ctx.view.conversations.neighbours(sheet.memories)
        return {"neighbour": np.maximum(_scores_of(sheet, before), _scores_of(sheet, after))}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + self.share * reads["neighbour"]


class Reply(ScoringStage, frozen=True, kw_only=True, tag="reply"):
    """A share of the score of the memory before, or of the one after.

    score(d) ← score(d) + max(before · score(the one before d), after · score(the one after d))

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


class Gather(ScoringStage, frozen=True, kw_only=True, tag="gather"):
    """A share of what the session's best candidates have.

    score(d) ← score(d) + share · (the sum of the best `best` scores in d's session) / best

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
