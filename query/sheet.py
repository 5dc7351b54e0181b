"""The score sheet: candidates × columns. It is the ranking and its explanation at once.

A stage only ever adds to it: candidates (a candidate that a stage drops stays, marked with that stage),
columns (named after what they hold; NaN where a candidate has no value), and one `Step` that says what the
stage did to the running score. `score` is NaN until a stage has given a candidate its first score.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recollect.projections.columns import BoolArray, FloatArray, Int32Array

KEPT = -1


class Step(NamedTuple):
    """What one stage did: its label, the columns it wrote, and the score before and after it."""

    label: str
    columns: tuple[str, ...]
    before: FloatArray
    after: FloatArray


class Sheet:
    def __init__(self) -> None:
        self.memories: Int32Array = np.empty(0, np.int32)
        self.rows: Int32Array = np.empty(0, np.int32)
        self.columns: dict[str, FloatArray] = {}
        self.score: FloatArray = np.empty(0)
        self.dropped_at: Int32Array = np.empty(0, np.int32)
        self.had: FloatArray = np.empty(0)
        self.needed: FloatArray = np.empty(0)
        self.steps: list[Step] = []
        self.facts: dict[str, str] = {}
        self._place: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def kept(self) -> BoolArray:
        """The candidates that no stage has dropped."""
        return np.equal(self.dropped_at, KEPT)

    def place(self, memory: int) -> int:
        """Where a memory stands on the sheet, or -1."""
        return self._place.get(memory, -1)

    def admit(self, memories: Int32Array, rows: Int32Array) -> Int32Array:
        """Where each of these memories stands, after adding those that are new."""
        fresh = [i for i, memory in enumerate(memories.tolist()) if memory not in self._place]
        if fresh:
            start = len(self)
            for offset, i in enumerate(fresh):
                self._place[int(memories[i])] = start + offset
            self._grow(memories[fresh], rows[fresh])
        return np.array([self._place[memory] for memory in memories.tolist()], dtype=np.int32)

    def _grow(self, memories: Int32Array, rows: Int32Array) -> None:
        blank = np.full(len(memories), np.nan)
        self.memories = np.concatenate((self.memories, memories.astype(np.int32)))
        self.rows = np.concatenate((self.rows, rows.astype(np.int32)))
        self.dropped_at = np.concatenate((self.dropped_at, np.full(len(memories), KEPT, np.int32)))
        self.score = np.concatenate((self.score, blank))
        self.had = np.concatenate((self.had, blank))
        self.needed = np.concatenate((self.needed, blank))
        self.columns = {name: np.concatenate((column, blank)) for name, column in self.columns.items()}
        self.steps = [
            step._replace(
                before=np.concatenate((step.before, blank)), after=np.concatenate((step.after, blank))
            )
            for step in self.steps
        ]

    def write(self, name: str, places: Int32Array, values: FloatArray) -> None:
        """Fill a column for some candidates, creating it if it is new."""
        column = self.columns.get(name)
        if column is None:
            column = self.columns[name] = np.full(len(self), np.nan)
        column[places] = values

    def step(self, label: str, columns: tuple[str, ...], score: FloatArray | None = None) -> None:
        """Record a stage; with `score` it also becomes the running score."""
        before = self.score
        if score is not None:
            self.score = score
        self.steps.append(Step(label, columns, before, self.score))

    def drop(self, losers: BoolArray, *, had: FloatArray, needed: float | FloatArray) -> None:
        """Mark candidates as dropped by the stage that is about to record its step."""
        losers = losers & self.kept
        self.dropped_at[losers] = len(self.steps)
        self.had[losers] = had[losers]
        self.needed[losers] = needed if isinstance(needed, float) else needed[losers]
