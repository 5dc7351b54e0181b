"""conversations: which memory came before and after another one in the session that made both.

Reads      Ingested
State      per memory the number of its session (-1: none) and its neighbours in order of birth (-1: none)
Invariant  a neighbour is fixed at birth; whether it is alive, or born yet, at a seq is asked of `documents`
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from recollect.events.envelope import Recorded
from recollect.events.facts import Ingested
from recollect.projections.columns import (
    Column,
    Int32Array,
    IntArray,
    Interner,
    State,
    state_array,
    state_bytes,
)
from recollect.projections.documents import Documents


class Conversations:
    name = "conversations"
    version = 1
    reads: ClassVar[frozenset[type]] = frozenset({Ingested})

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._names = Interner()
        self._of: Column[np.int32] = Column(np.int32)
        self._before: Column[np.int32] = Column(np.int32)
        self._after: Column[np.int32] = Column(np.int32)
        self._last: dict[int, int] = {}

    def apply(self, recorded: Recorded) -> None:
        """Fold one event that the documents have folded already; a memory keeps its first session."""
        fact = recorded.fact
        if isinstance(fact, Ingested) and self._documents.ids.find(fact.id) == len(self._of):
            self.born(fact.session)

    def born(self, session: str | None) -> None:
        """The next memory was born in this session."""
        memory = len(self._of)
        number = -1 if session is None else self._names.number(session)
        before = self._last.get(number, -1) if number >= 0 else -1
        self._of.append(number)
        self._before.append(before)
        self._after.append(-1)
        if before >= 0:
            self._after[before] = memory
        if number >= 0:
            self._last[number] = memory

    def of(self, memories: Int32Array | IntArray) -> Int32Array:
        """The number of the session that made each memory; -1 for none."""
        return self._of.array[memories]

    def neighbours(self, memories: Int32Array | IntArray) -> tuple[Int32Array, Int32Array]:
        """The memories before and after each in its session, born yet or not, alive or not; -1 for none."""
        return self._before.array[memories], self._after.array[memories]

    def dump(self) -> State:
        return {
            "names": self._names.dump(),
            "of": self._of.array,
            "before": self._before.array,
            "after": self._after.array,
        }

    def load(self, state: State) -> None:
        self._names = Interner.load(state_bytes(state, "names"))
        self._of.load(state_array(state, "of"))
        self._before.load(state_array(state, "before"))
        self._after.load(state_array(state, "after"))
        self._last = {int(number): memory for memory, number in enumerate(self._of.array) if number >= 0}
