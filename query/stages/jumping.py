"""Stages that skip others: the next stage is the one with a label; the label `end` is that of no stage."""

from __future__ import annotations

import numpy as np

from recollect.events.grid import cosine_of, from_bytes
from recollect.projections.columns import FloatArray
from recollect.projections.portable_math import round12
from recollect.query.bounds import NonNegative, Share
from recollect.query.inputs import read
from recollect.query.sheet import RankContext, Reads, Sheet
from recollect.query.stages.stage import ScoringStage, Stage

END = "end"


class Gate(ScoringStage, frozen=True, kw_only=True, tag="gate"):
    """A question on the topic of the one before it in the session keeps that one's answer.

    Fires if the cosine of the question and the previous one is > `threshold`; stands before all retrieval.

    Then the memories of the previous answer are the candidates, with the scores that they had there, and the
    next stage is the one with the label `to`. One that no longer passes the hard filters is left out; if none
    is left, the gate does not fire. The previous question and its answer are an effect, recorded with the
    question. The sheet's fact `topic_gate` names the recall that was kept.
    """

    to: str
    threshold: Share = 0.85

    @property
    def title(self) -> str:
        return f"gate: keep the previous answer above cosine {self.threshold:g}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        previous, vector = ctx.question.effects.previous, ctx.question.vector
        if previous is None or vector is None or len(vector) != len(previous.vector):
            return
        if round12(cosine_of(from_bytes(vector), from_bytes(previous.vector))) <= self.threshold:
            return
        find = ctx.view.documents.ids.find
        known = {find(id_): score for id_, score in zip(previous.ids, previous.scores, strict=True)}
        memories = np.array([memory for memory in known if memory >= 0], dtype=np.int32)
        able, rows = ctx.reachable(memories)
        if not able.any():
            return
        sheet.admit(memories[able], rows[able])
        reads = {"previous": np.array([known[memory] for memory in memories[able].tolist()])}
        sheet.columns.update(reads)
        sheet.step(reads, self.combine(sheet.score, reads))
        sheet.facts["topic_gate"] = f"r{previous.recall}"
        sheet.jump = self.to

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        del before  # the previous answer replaces it
        return reads["previous"]


class Shortcut(ScoringStage, frozen=True, kw_only=True, tag="shortcut"):
    """When one column is decisive, its values are the scores and the stages up to a label are skipped.

    Fires if the column's best value is ≥ `min`, there are at least `at_least` values, and the second best
    lies at least `gap` below. Then score(d) = column(d), candidates without a value are dropped, and the next
    stage is the one with the label `to`. The sheet's fact `shortcut` names the column that fired.
    """

    column: str
    to: str
    min: NonNegative
    gap: NonNegative = 0.0
    at_least: int = 1

    @property
    def title(self) -> str:
        return f"shortcut to {self.to!r} if {self.column} is decisive"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = np.where(sheet.kept, read(self.column, sheet, ctx), np.nan)
        best = np.sort(values[~np.isnan(values)])[::-1]
        if len(best) < max(self.at_least, 1) or best[0] < self.min:
            return
        if self.gap > 0.0 and (len(best) < 2 or best[0] - best[1] < self.gap):
            return
        sheet.drop(np.isnan(values), had=values, needed=np.full(len(sheet), self.min))
        sheet.step({self.column: values}, values)
        sheet.jump = self.to
        sheet.facts["shortcut"] = self.column

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        del before  # the column replaces it
        return reads[self.column]


class Skip(Stage, frozen=True, kw_only=True, tag="skip"):
    """After a shortcut, the stages up to a label are left out as well.

    If the shortcut on the column `after` fired, the next stage is the one with the label `to`.
    """

    after: str
    to: str

    @property
    def title(self) -> str:
        return f"skip to {self.to!r} after the shortcut on {self.after}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        del ctx  # what fired is written on the sheet
        if sheet.facts.get("shortcut") == self.after:
            sheet.jump = self.to
