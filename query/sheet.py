"""The score sheet: candidates × columns. It is the ranking and its explanation at once.

A stage only ever adds to it: candidates (one that a stage drops stays, marked with that stage, the number it
had and the number it needed), columns (named after what they hold; NaN where a candidate has no value), and
steps (what a stage read for each candidate, and the score before and after). `score` is NaN until a stage
has given a candidate its first one.

`RankContext` is what a stage may look at beside it: the question, the view, and where the formula's dials stand for
this question.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from recollect.events.facts import Filters, GridVector, Question
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.hard_filters import scope_of
from recollect.projections.lifecycle.lifecycle import LifecycleColumns
from recollect.projections.view import View
from recollect.query.dials import Dial

_NO_FILTERS = Filters()
KEPT = -1

Reads = dict[str, FloatArray]


class Step(NamedTuple):
    """What one stage did to the score: what it read of each candidate, and the score before and after."""

    stage: int
    reads: Reads
    before: FloatArray
    after: FloatArray


class Order(NamedTuple):
    """One key of the final order, before the memory id: a column, larger first unless `ascending`."""

    name: str
    values: FloatArray
    ascending: bool = False


class Sheet:
    def __init__(self, *, sources_first: bool = False) -> None:
        self.sources_first = sources_first
        self.memories: Int32Array = np.empty(0, np.int32)
        self.rows: Int32Array = np.empty(0, np.int32)
        self.columns: Reads = {}
        self.score: FloatArray = np.empty(0)
        self.dropped_at: Int32Array = np.empty(0, np.int32)
        self.had: FloatArray = np.empty(0)
        self.needed: FloatArray = np.empty(0)
        self.steps: list[Step] = []
        self.facts: dict[str, str] = {}
        self.order: tuple[Order, ...] = ()
        self.id_descending = False
        self.fuse_k = np.nan
        self.wanted: tuple[int, ...] = ()
        self.expansions_wanted = False
        self.stage = 0
        self.jump = ""

    def __len__(self) -> int:
        return len(self.memories)

    def copy(self) -> Sheet:
        """A copy of the sheet, to continue from with other stages."""
        other = Sheet()
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if hasattr(value, "copy") else value)
        other.columns = {name: column.copy() for name, column in self.columns.items()}
        return other

    @property
    def kept(self) -> BoolArray:
        """The candidates that no stage has dropped."""
        return np.equal(self.dropped_at, KEPT)

    @property
    def scored(self) -> BoolArray:
        """The kept candidates that have a score."""
        return self.kept & ~np.isnan(self.score)

    def place(self, memory: int) -> int:
        """Where a memory stands on the sheet, or -1."""
        found = np.flatnonzero(self.memories == memory)
        return int(found[0]) if len(found) else -1

    def column(self, name: str) -> FloatArray:
        """A column by name; all NaN if no stage wrote it."""
        if name == "score":
            return self.score
        column = self.columns.get(name)
        return np.full(len(self), np.nan) if column is None else column

    def admit(self, memories: Int32Array, rows: Int32Array) -> IntArray:
        """Where each of these different memories stands, after adding those that are new."""
        places = self.places(memories)
        fresh = places < 0
        if fresh.any():
            places[fresh] = np.arange(len(self), len(self) + np.count_nonzero(fresh))
            self._grow(memories[fresh], rows[fresh])
        return places

    def places(self, memories: Int32Array | IntArray) -> IntArray:
        """Where each of these memories stands on the sheet, or -1."""
        if not len(self):
            return np.full(len(memories), -1, dtype=np.int64)
        by_memory = np.argsort(self.memories)
        found = by_memory.take(self.memories[by_memory].searchsorted(memories), mode="clip")
        return np.where(self.memories[found] == memories, found, -1)

    def _grow(self, memories: Int32Array, rows: Int32Array) -> None:
        blank = np.full(len(memories), np.nan)

        def longer(column: FloatArray) -> FloatArray:
            return np.concatenate((column, blank))

        self.memories = np.concatenate((self.memories, memories.astype(np.int32)))
        self.rows = np.concatenate((self.rows, rows.astype(np.int32)))
        self.dropped_at = np.concatenate((self.dropped_at, np.full(len(memories), KEPT, np.int32)))
        self.score, self.had, self.needed = longer(self.score), longer(self.had), longer(self.needed)
        self.columns = {name: longer(column) for name, column in self.columns.items()}
        self.steps = [
            Step(s.stage, {n: longer(c) for n, c in s.reads.items()}, longer(s.before), longer(s.after))
            for s in self.steps
        ]

    def write(self, name: str, places: Int32Array | IntArray, values: FloatArray) -> None:
        """Fill a column for some candidates, creating it if it is new."""
        column = self.columns.get(name)
        if column is None:
            column = self.columns[name] = np.full(len(self), np.nan)
        column[places] = values

    def step(self, reads: Reads, score: FloatArray) -> None:
        """Record what the current stage read, and its new score."""
        self.steps.append(Step(self.stage, reads, self.score, score))
        self.score = score

    def drop(self, losers: BoolArray, *, had: FloatArray, needed: FloatArray) -> None:
        """Mark kept candidates as dropped by the current stage, with what they had and what they needed."""
        losers = losers & self.kept
        self.dropped_at[losers] = self.stage
        self.had[losers] = had[losers]
        self.needed[losers] = needed[losers]


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
        self._beside: tuple[IntArray, IntArray] | None = None
        self.prefetch: Prefetched | None = None

    @cached_property
    def positions(self) -> dict[str, str]:
        """Which row each dial picked."""
        return {dial.name: dial.choice(self.question) for dial in self._dials}

    def dial(self, key: str) -> float:
        """The product of a key over all dials; 1 if no dial has the key."""
        product = 1.0
        for dial in self._dials if key else ():
            product *= dial.table.get(self.positions[dial.name], {}).get(key, 1.0)
        return product

    def supplement(self, key: str) -> float:
        """The sum of a key over all dials; 0 if no dial has the key. For numbers that are added, not multiplied."""
        total = 0.0
        for dial in self._dials if key else ():
            total += dial.table.get(self.positions[dial.name], {}).get(key, 0.0)
        return total

    def lifecycle(self, sheet: Sheet) -> LifecycleColumns:
        """The lifecycle of the sheet's candidates at the view's seq, computed column by column once."""
        if self._lifecycle is None or len(self._lifecycle) != len(sheet):
            self._lifecycle = self.view.lifecycle.at(sheet.memories, self.view.seq)
        return self._lifecycle

    def beside(self, sheet: Sheet) -> tuple[IntArray, IntArray]:
        """The places on the sheet of the memories before and after each candidate in its session; -1 for none."""
        if self._beside is None or len(self._beside[0]) != len(sheet):
            before, after = self.view.conversations.neighbours(sheet.memories)
            self._beside = sheet.places(before), sheet.places(after)
        return self._beside

    @cached_property
    def scope(self) -> Filters:
        """The question's hard filters; validity is among them if any memory has one."""
        if not self.view.lifecycle.anything_has_validity:
            return self.question.filters
        return scope_of(self.question)

    @property
    def unrestricted(self) -> bool:
        """Whether no hard filter can reject anything."""
        return self.scope == _NO_FILTERS and not self.view.lifecycle.anything_expires

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
        """The hard filters, by row: expiry and validity at the question's clock, and the question's scope."""
        memories = self.view.documents.memory_of[rows]
        return self.view.lifecycle.admissible(
            memories, seq=self.view.seq, now=self.question.now, filters=self.scope
        )

    def normal_form(self, row: int, analyzer: str) -> str:
        """The text of a row in normal form: its terms, joined by single spaces."""
        return " ".join(self.view.lexical(analyzer).terms_of(row))
