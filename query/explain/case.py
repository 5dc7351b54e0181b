"""The case of one memory: the ranking that was made, the trace of the memory in it, and where it stood."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recollect.events.errors import UnknownMemory
from recollect.events.facts import Question
from recollect.projections.portable_math import round12
from recollect.projections.vectors.shard_cache import ShardUnavailable
from recollect.projections.view import View
from recollect.query.explain.trace import Trace
from recollect.query.formula import Formula
from recollect.query.ranking import rank, rank_around
from recollect.query.sheet import KEPT, Order, RankContext
from recollect.query.stages.ordering import sort_key

DERIVATION = "derivation"
_BATCH_CONSTANTS = ("min", "max", "weight")


class CandidateStep(NamedTuple):
    """What one stage (counted from 0) read of one candidate, and its score before and after."""

    number: int
    reads: dict[str, float]
    before: float
    after: float


class Case:
    def __init__(self, question: Question, view: View, formula: Formula, memory_id: str) -> None:
        self.memory = view.documents.ids.find(memory_id)
        if self.memory < 0:
            raise UnknownMemory(memory_id)
        self.id = memory_id
        self.question = question
        self.view = view
        self.formula = formula
        self.trace = Trace(formula, self.memory)
        try:
            self.ranking = rank(question, view, formula, observe=self.trace, finite=False)
        except ShardUnavailable:
            self.question, _ = rank_around(question, view, formula, finite=False)
            self.trace = Trace(formula, self.memory)
            self.ranking = rank(self.question, view, formula, observe=self.trace, finite=False)
        self.ctx = RankContext(self.question, view, formula.dials)
        self.sheet = self.ranking.sheet
        self.place = self.sheet.place(self.memory)

    @cached_property
    def row(self) -> int:
        """The memory's living row; -1 if it has no living row."""
        return int(self.view.documents.rows_of(np.array([self.memory]), self.view.seq)[0])

    @cached_property
    def position(self) -> int | None:
        """Where it stands among all candidates that are still in, from 0; None if it is not among them."""
        order = self.ranking.order
        return order.index(self.place) if self.place in order else None

    @property
    def rank(self) -> int | None:
        """Its rank in the answer; None for a miss."""
        within = self.position is not None and self.position < self.question.k
        return self.position + 1 if within and self.position is not None else None

    @property
    def dropped_at(self) -> int:
        """The stage (from 0) that dropped it, or KEPT."""
        return KEPT if self.place < 0 else int(self.sheet.dropped_at[self.place])

    def steps(self, place: int) -> list[CandidateStep]:
        """What the stages did to the score of the candidate at this place, from its coming to its dropping."""
        came, dropped = self.trace.came_at(place), int(self.sheet.dropped_at[place])
        return [
            CandidateStep(
                step.stage,
                {name: float(column[place]) for name, column in step.reads.items()},
                float(step.before[place]),
                float(step.after[place]),
            )
            for step in self.sheet.steps
            if step.stage >= came and (dropped == KEPT or step.stage < dropped)
        ]

    @cached_property
    def own_steps(self) -> list[CandidateStep]:
        return [] if self.place < 0 else self.steps(self.place)

    @property
    def score(self) -> float | None:
        """The score it ended with, or had when it was dropped, to 12 digits."""
        raw = self.own_steps[-1].after if self.own_steps else math.nan
        return None if math.isnan(raw) else round12(raw)

    def decided_by(self, upper: int, lower: int) -> str:
        """What put the candidate at one place before that at another: "score", a tie-break's column, "id",
        or "derivation", where the order would be the other way but for a source that comes first.
        """
        sheet = self.sheet
        for key in sheet.order or (Order("score", sheet.score),):
            a, b = sort_key(key, upper), sort_key(key, lower)
            if a != b:
                return key.name if a < b else DERIVATION
        ids = self.view.documents.ids.values
        first, second = ids[int(sheet.memories[upper])], ids[int(sheet.memories[lower])]
        return "id" if (first < second) is not sheet.id_descending else DERIVATION

    def score_at(self, position: int) -> float:
        return round12(float(self.sheet.score[self.ranking.order[position]]))

    def id_at(self, position: int) -> str:
        memory = int(self.sheet.memories[self.ranking.order[position]])
        return self.view.documents.ids.values[memory]


def is_of_the_memory(name: str) -> bool:
    """Whether what a stage read under this name is a number of the memory: no constant of the batch, not the score."""
    return name.rsplit(".", 1)[-1] not in _BATCH_CONSTANTS and name not in ("score", "value")
