"""Stages that look at the session that made a memory: what stands beside it becomes a candidate or lends its score."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import BoolArray, FloatArray, IntArray, distinct
from recollect.projections.lexical.analyzers import terms_of
from recollect.projections.portable_math import log, round12_array
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.inputs import has_role
from recollect.query.sheet import RankContext, Reads, Sheet
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
        before, after = ctx.beside(sheet)
        return {"neighbour": np.maximum(_scores_at(sheet, before), _scores_at(sheet, after))}

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
        before, after = ctx.beside(sheet)
        return {"before": _scores_at(sheet, before), "after": _scores_at(sheet, after)}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + np.maximum(self.before * reads["before"], self.after * reads["after"])


def _scores_at(sheet: Sheet, places: IntArray) -> FloatArray:
    """The scores at these places of the sheet where they are kept candidates, else 0; 0 also for -1, no place."""
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


class Exchange(ScoringStage, frozen=True, kw_only=True, tag="exchange"):
    """A share of the score of the turn before, more where another speaker asked there, or of the turn after.

    score(d) ← score(d) + max(share · score(the one before d), after · score(the one after d))

    share = asked     where the one before asks and stands under another label: another speaker's question
          = before    else

    Before and after are the memories beside d in the session that made them; one that is no candidate, or not scored,
    counts 0. What answers a question often repeats none of its words. A turn of a chat with an assistant (a tag is a
    role) gets nothing: there every turn answers the one before, and the question is what tells about the user.
    """

    asked: NonNegative
    before: NonNegative
    after: NonNegative

    @property
    def title(self) -> str:
        return f"exchange ({self.asked:g} of who asked before, {self.before:g} of others, {self.after:g} of the one after)"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        before, after = ctx.beside(sheet)
        talks = ~has_role(sheet, ctx)
        return {
            "asked": _asked(sheet, ctx).astype(np.float64),
            "before": np.where(talks, _scores_at(sheet, before), 0.0),
            "after": np.where(talks, _scores_at(sheet, after), 0.0),
        }

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        share = np.where(reads["asked"] > 0.0, self.asked, self.before)
        return before + np.maximum(share * reads["before"], self.after * reads["after"])


def _asked(sheet: Sheet, ctx: RankContext) -> BoolArray:
    """Where the memory before holds a question mark and stands under another label than the candidate."""
    before, _ = ctx.view.conversations.neighbours(sheet.memories)
    marks, there = ctx.view.marks, before >= 0
    rows = ctx.view.documents.rows_of(np.where(there, before, 0), ctx.view.seq)
    there = there & (rows >= 0)
    rows = np.where(there, rows, 0)
    own, other = marks.label_numbers(sheet.rows), marks.label_numbers(rows)
    asked: BoolArray = there & marks.asking(rows) & (own >= 0) & (other >= 0) & (own != other)
    return asked


class Around(Stage, frozen=True, kw_only=True, tag="around"):
    """The question's words in a turn and in the turns beside it.

    Writes `name` = Σ idf(t) · tf / (tf + k1 · (1 − b + b · length)) over the question's different terms t

    tf       how often t stands in the memory, the one before and the one after it in the session that made them
    length   the mean length of these, over the mean length of all memories
    idf(t)   ln(1 + (N − df + 0.5) / (df + 0.5)), N and df counting single memories

    A topic is named once in a conversation and spoken of for several turns. Only candidates count as neighbours. None
    where a memory has none, where it is a turn of a chat with an assistant (a tag is a role), or where no term matches.
    """

    name: str = "around"
    k1: NonNegative = 0.9
    b: Share = 0.4
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "measure the words around a turn"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = sheet.columns[self.name] = np.full(len(sheet), np.nan)
        beside = ctx.beside(sheet)
        near = [(places >= 0) & sheet.kept[places] for places in beside] if len(sheet) else []
        terms = terms_of(ctx.question.text, self.analyzer)
        if not terms or not any(there.any() for there in near):
            return
        lexical, seq = ctx.view.lexical(self.analyzer), ctx.view.seq
        own, lengths = lexical.term_counts(terms, sheet.rows)
        tf, length, turns = own.copy(), lengths.astype(np.float64), np.ones(len(sheet))
        for places, there in zip(beside, near, strict=True):
            tf += np.where(there, own[:, places], 0)
            length += np.where(there, lengths[places], 0)
            turns += there
        norm = self.k1 * (1.0 - self.b + self.b * (length / turns / lexical.mean_length(at=seq)))
        count, frequencies = lexical.document_frequencies(terms, at=seq)
        total: FloatArray = np.zeros(len(sheet))
        for line, df in zip(tf, frequencies, strict=True):
            total += log(1.0 + (count - df + 0.5) / (df + 0.5)) * (line / (line + norm))
        scored = (turns > 1.0) & (total > 0.0) & ~has_role(sheet, ctx)
        values[scored] = round12_array(total)[scored]
