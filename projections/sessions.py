"""sessions: what the recalls of each session returned, in order.

Reads      recall.answered
State      the recalls that belong to a session: seq, session, formula, and the memories they returned
Invariant  recalls are in seq order, so what a session had been told by a seq is a prefix of its own list

Which recalls are a session's is answered from lists that are brought up to date when they are asked, so
neither folding nor loading pays for them. Ids that do not exist are left out.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import ClassVar

import numpy as np

from recollect.events.envelope import Recorded
from recollect.events.facts import Ingested, Question, Recalled
from recollect.projections.columns import (
    BoolArray,
    Column,
    Int32Array,
    IntArray,
    Interner,
    Saved,
    State,
    Table,
)
from recollect.projections.documents import Documents


class Sessions:
    name = "sessions"
    version = 1
    reads: ClassVar[frozenset[type]] = frozenset({Recalled})

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._names = Interner()
        self._formulas = Interner()
        self._recalls = Table([("seq", "q"), ("session", "i"), ("formula", "i"), ("end", "q")])
        self._returned: Column[np.int32] = Column(np.int32)
        self._of: dict[int, array[int]] = {}
        self._listed = 0

    # --- folding ---------------------------------------------------------------------------------

    def apply(self, recorded: Recorded) -> None:
        """Fold one event; a recall without a session changes nothing."""
        match recorded.fact:
            case Recalled(question=Question(session=str(session)), formula=formula, ids=ids):
                find = self._documents.ids.find
                self._returned.extend([memory for memory in map(find, ids) if memory >= 0])
                self._recalls.append(
                    recorded.seq,
                    self._names.number(session),
                    self._formulas.number(formula),
                    len(self._returned),
                )
            case _:
                pass

    # --- reading ---------------------------------------------------------------------------------

    def returned(self, session: str, memories: Int32Array | IntArray, seq: int) -> BoolArray:
        """Which of these memories a recall of this session had returned at or before `seq`."""
        return np.isin(memories, self.told(session, seq))

    def told(self, session: str, seq: int) -> Int32Array:
        """All memories that recalls of this session had returned at or before `seq`."""
        hits = [self._hits(recall) for recall in self._recalls_of(session, seq)]
        return np.unique(np.concatenate(hits)) if hits else np.empty(0, dtype=np.int32)

    def last_recall(self, session: str, formula: str, seq: int) -> int:
        """The seq of the session's last recall under this formula (its digest) at or before `seq`; 0 if none."""
        number = self._formulas.find(formula)
        for recall in reversed(self._recalls_of(session, seq)):
            recalled_at, _, by, _ = self._recalls.row(recall)
            if by == number:
                return int(recalled_at)
        return 0

    def goes_on(self, session: str, *, after: int) -> bool:
        """Whether this session has a recall after a seq."""
        self._catch_up()
        listed = self._of.get(self._names.find(session), array("i"))
        return bool(listed) and int(self._recalls.row(listed[-1])[0]) > after

    def _recalls_of(self, session: str, seq: int) -> array[int]:
        self._catch_up()
        listed = self._of.get(self._names.find(session), array("i"))
        return listed[: bisect_right(listed, seq, key=lambda recall: int(self._recalls.row(recall)[0]))]

    def _hits(self, recall: int) -> Int32Array:
        start = self._recalls.row(recall - 1)[-1] if recall else 0
        return self._returned.array[start : self._recalls.row(recall)[-1]]

    def _catch_up(self) -> None:
        for recall in range(self._listed, len(self._recalls)):
            self._of.setdefault(self._recalls.row(recall)[1], array("i")).append(recall)
        self._listed = len(self._recalls)

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        return {
            "names": self._names.dump(),
            "formulas": self._formulas.dump(),
            "recalls": self._recalls.array,
            "returned": self._returned.array,
        }

    def load(self, state: Saved) -> None:
        self._names = Interner.load(state["names"])
        self._formulas = Interner.load(state["formulas"])
        self._recalls.load(state["recalls"])
        self._returned.load(state["returned"])
        self._of, self._listed = {}, 0


class Conversations:
    """Which memory came before and after another one in the session that made both.

    Reads      Ingested
    State      per memory the number of its session (-1: none) and its neighbours in order of birth (-1: none)
    Invariant  a neighbour is fixed at birth; whether it is alive, or born yet, at a seq is asked of `documents`
    """

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

    def load(self, state: Saved) -> None:
        self._names = Interner.load(state["names"])
        self._of.load(state["of"])
        self._before.load(state["before"])
        self._after.load(state["after"])
        self._last = {int(number): memory for memory, number in enumerate(self._of.array) if number >= 0}
