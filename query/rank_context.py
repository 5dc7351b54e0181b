"""What a stage may look at: the question, the view, and where the formula's dials stand for this question."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import msgspec

from recollect.events.facts import Filters, GridVector, Question
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lifecycle.lifecycle import LifecycleColumns
from recollect.projections.view import View
from recollect.query.dials import Dial
from recollect.query.sheet import Sheet

_NO_FILTERS = Filters()


class Prefetched(Protocol):
    """A stage's search that was begun before its turn."""

    @property
    def stage(self) -> object: ...

    def take(self) -> tuple[Int32Array, FloatArray]: ...

    def wait(self) -> None: ...


class RankContext:
    """One question asked of one view under one formula's dials."""

    def __init__(self, question: Question, view: View, dials: tuple[Dial, ...] = ()) -> None:
        self.question = question
        self.view = view
        self._dials = dials
        self._lifecycle: LifecycleColumns | None = None
        self.prefetch: Prefetched | None = None

    @cached_property
    def positions(self) -> dict[str, str]:
        """Which row each dial picked."""
        return {dial.name: dial.choice(self.question) for dial in self._dials}

    def dial(self, key: str) -> float:
        """The product of a key over all dials, 1 where none has it."""
        product = 1.0
        for dial in self._dials if key else ():
            product *= dial.table.get(self.positions[dial.name], {}).get(key, 1.0)
        return product

    def supplement(self, key: str) -> float:
        """The sum of a key over all dials, 0 where none has it: for what is added instead of multiplied."""
        total = 0.0
        for dial in self._dials if key else ():
            total += dial.table.get(self.positions[dial.name], {}).get(key, 0.0)
        return total

    def lifecycle(self, sheet: Sheet) -> LifecycleColumns:
        """The lifecycle of the sheet's candidates at the view's seq, computed column by column once."""
        if self._lifecycle is None or len(self._lifecycle) != len(sheet):
            self._lifecycle = self.view.lifecycle.at(sheet.memories, self.view.seq)
        return self._lifecycle

    @property
    def unrestricted(self) -> bool:
        """Whether no hard filter can reject anything."""
        return self.question.filters == _NO_FILTERS and not self.view.lifecycle.anything_expires

    def asking(self, text: str, vector: GridVector | None) -> RankContext:
        """The same context with other words and another vector."""
        question = msgspec.structs.replace(self.question, text=text, vector=vector)
        return RankContext(question, self.view, self._dials)

    def reachable(self, memories: Int32Array | IntArray) -> tuple[BoolArray, Int32Array]:
        """Which of these memories are alive and pass the hard filters, and their rows (-1: none)."""
        rows = self.view.documents.rows_of(memories, self.view.seq)
        able = rows >= 0
        if not self.unrestricted and able.any():
            able[able] = self.admit(rows[able])
        return able, rows

    def admit(self, rows: Int32Array) -> BoolArray:
        """The hard filters, by row: expiry at the question's clock, and the question's scope."""
        memories = self.view.documents.memory_of[rows]
        return self.view.lifecycle.admissible(
            memories, seq=self.view.seq, now=self.question.now, filters=self.question.filters
        )

    def normal_form(self, row: int, analyzer: str) -> str:
        """The text of a row in normal form: its terms, joined by single spaces."""
        return " ".join(self.view.lexical(analyzer).terms_of(row))
