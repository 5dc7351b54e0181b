"""documents: every version of every memory's text and vector, as numbered rows.

Reads      everything that gives a memory a new text or vector, hides it or brings it back
State      memories 0, 1, 2, … by first appearance; rows 0, 1, 2, … by birth, each with its memory, the
           seqs it was born and died at, and the seq of the event that holds its text
Invariant  at any seq a memory has at most one row that is alive: born <= seq < died

A row never comes back to life: a restored memory gets a new row that is a copy of its newest one; an erased
memory cannot be restored, since its text is gone, but its id may be ingested anew. The
lexical and vector projections are fed with the rows born here and keep the same numbers.

A version that was erased since (`Redacted` with its remains) keeps its row, born dead and without text and vector:
so later rows keep their numbers, and the memory is found at no seq. Until the `Erased` event, `_redacted` tracks
whether such a memory would be visible, because restoring a hidden one gave it a row.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import ClassVar, NamedTuple, assert_never

import numpy as np
from msgspec import UNSET

from recollect.events import facts
from recollect.events.envelope import Recorded
from recollect.projections.columns import (
    NEVER,
    BoolArray,
    Column,
    Int32Array,
    IntArray,
    Interner,
    Saved,
    State,
    Versions,
)


class NewRow(NamedTuple):
    """A row that was just born: its text and vector, or the rows that they are copied from (-1: not copied)."""

    row: int
    text: str | None
    text_of: int
    vector: bytes | None
    vector_of: int


class Erasure(NamedTuple):
    """A memory that was erased: the log held something of it from `first` on, until the erasure at `seq`."""

    memory: int
    first: int
    seq: int


class Documents:
    name = "documents"
    version = 4
    reads: ClassVar[frozenset[type]] = frozenset(
        {
            facts.Ingested,
            facts.Revised,
            facts.Reembedded,
            facts.Restored,
            facts.Forgotten,
            facts.Superseded,
            facts.Erased,
            facts.Pruned,
            facts.Redacted,
        }
    )

    def __init__(self) -> None:
        self.ids = Interner()
        self._rows = Versions([("source", "q"), ("bytes", "i")])
        self._erased: set[int] = set()
        self._redacted: dict[int, bool] = {}
        self.erasures: list[Erasure] = []
        self.erased_at: list[int] = []
        self._died: Column[np.int64] = Column(np.int64)
        self._death_seqs: Column[np.int64] = Column(np.int64)
        self._death_rows: Column[np.int32] = Column(np.int32)

    # --- folding ---------------------------------------------------------------------------------

    def apply(self, recorded: Recorded) -> list[NewRow]:
        """Fold one event; returns the rows that it gave birth to."""
        seq = recorded.seq
        match recorded.fact:
            case facts.Ingested(id=id_, content=content, vector=vector):
                memory = self.ids.number(id_)
                self._end(memory, seq)
                self._erased.discard(memory)
                self._redacted.pop(memory, None)
                row = self._begin(memory, seq, seq, _utf8_bytes(content))
                return [NewRow(row, content, -1, vector, -1)]
            case facts.Revised() as revised:
                return self._revise(revised, seq)
            case facts.Reembedded(vectors=vectors):
                return [
                    new for id_, vector in dict(vectors).items() for new in self._reembed(id_, vector, seq)
                ]
            case facts.Restored(id=id_):
                return self._restore(self.ids.find(id_), seq)
            case facts.Forgotten(id=id_) | facts.Superseded(old=id_):
                self._hide(self.ids.find(id_), seq)
            case facts.Erased(id=id_, remains=remains):
                self.erased_at.append(seq)
                self._erase(self.ids.find(id_), seq, min((one.seq for one in remains), default=seq))
            case facts.Pruned(items=items):
                for item in items:
                    self._hide(self.ids.find(item.id), seq)
            case facts.Redacted(remains=facts.Ingested() | facts.Revised() as left):
                return self._redact(left, seq)
            case (
                facts.Accessed() | facts.Recalled() | facts.Rated() | facts.Linked() | facts.Unlinked()
                | facts.Clustered() | facts.DreamBegan() | facts.Consolidated() | facts.Downscaled()
                | facts.Stabilized() | facts.Placed() | facts.Promoted() | facts.DreamEnded() | facts.FormulaAdopted()
                | facts.EmbedderAdopted() | facts.ShardSealed() | facts.ShardRetired() | facts.Expected()
                | facts.ExpectationWithdrawn() | facts.Recovered() | facts.ClockCorrected() | facts.Attested()
                | facts.Unknown() | facts.Redacted()
            ):  # fmt: skip
                pass
            case _:
                assert_never(recorded.fact)
        return []

    def births(self, ids: list[str], seqs: IntArray, texts: list[str]) -> int:
        """Fold first versions of memories that are all new, one event each; returns the first new row."""
        first = self.rows
        self.ids.extend(ids)
        self._rows.begin(seqs, {"source": seqs, "bytes": [_utf8_bytes(text) for text in texts]})
        self._died.extend(np.full(len(ids), NEVER, dtype=np.int64))
        return first

    def _begin(self, memory: int, seq: int, source: int, size: int, *, alive: bool = True) -> int:
        row = self._rows.append(memory, seq, source, size)
        assert row == len(self._died), "one row per memory and event"
        self._died.append(NEVER)
        if not alive:
            self._kill(row, seq)
        return row

    def _end(self, memory: int, seq: int) -> bool:
        """Let the memory's living row die; says whether there was one."""
        row = self._rows.latest(memory) if memory >= 0 else -1
        if row < 0 or self._died[row] != NEVER:
            return False
        self._kill(row, seq)
        return True

    def _hide(self, memory: int, seq: int) -> None:
        self._end(memory, seq)
        if memory in self._redacted:
            self._redacted[memory] = False

    def _erase(self, memory: int, seq: int, first: int) -> None:
        self._end(memory, seq)
        if memory >= 0:
            self._erased.add(memory)
            self._redacted.pop(memory, None)
            if first < seq:
                self.erasures.append(Erasure(memory, first, seq))

    def _redact(self, left: facts.Ingested | facts.Revised, seq: int) -> list[NewRow]:
        """Add the row of a version that was erased since: it keeps its number and nothing else."""
        if isinstance(left, facts.Revised):
            return self._revise(left, seq)
        memory = self.ids.number(left.id)
        self._end(memory, seq)
        self._erased.discard(memory)
        self._redacted[memory] = True
        return [NewRow(self._begin(memory, seq, seq, 0, alive=False), "", -1, None, -1)]

    def _kill(self, row: int, seq: int) -> None:
        self._died[row] = seq
        self._death_seqs.append(seq)
        self._death_rows.append(row)

    def _revise(self, revised: facts.Revised, seq: int) -> list[NewRow]:
        """A new row if text or vector changed; a hidden memory stays hidden (its row is born dead)."""
        memory = self.ids.find(revised.id)
        if memory < 0 or (revised.content is UNSET and revised.vector is UNSET):
            return []
        old = self._rows.latest(memory)
        alive = self._end(memory, seq)
        if revised.content is UNSET:
            text, text_of = None, old
            row = self._begin(memory, seq, *self._text_of(old), alive=alive)
        else:
            text, text_of = revised.content, -1
            row = self._begin(memory, seq, seq, _utf8_bytes(text), alive=alive)
        vector, vector_of = (None, old) if revised.vector is UNSET else (revised.vector, -1)
        return [NewRow(row, text, text_of, vector, vector_of)]

    def _reembed(self, id_: str, vector: bytes, seq: int) -> list[NewRow]:
        memory = self.ids.find(id_)
        if memory < 0:
            return []
        old = self._rows.latest(memory)
        alive = self._end(memory, seq)
        return [NewRow(self._begin(memory, seq, *self._text_of(old), alive=alive), None, old, vector, -1)]

    def _restore(self, memory: int, seq: int) -> list[NewRow]:
        """A new living row, unless the memory is visible or its text was erased for good."""
        old = self._rows.latest(memory) if memory >= 0 else -1
        if old < 0 or memory in self._erased:
            return []
        redacted = memory in self._redacted
        if self._redacted[memory] if redacted else self._died[old] == NEVER:
            return []
        if redacted:
            self._redacted[memory] = True
        row = self._begin(memory, seq, *self._text_of(old), alive=not redacted)
        return [NewRow(row, None, old, None, old)]

    # --- reading ---------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        return len(self._died)

    @property
    def memories(self) -> int:
        return len(self.ids)

    @property
    def born(self) -> IntArray:
        """Seq of birth per row, ascending."""
        return self._rows.column("seq")

    @property
    def died(self) -> IntArray:
        """Seq of death per row; NEVER while it lives."""
        return self._died.array

    @property
    def memory_of(self) -> Int32Array:
        """The memory of each row."""
        return self._rows.column("owner")

    @property
    def death_seqs(self) -> IntArray:
        """Seqs of all deaths, ascending; `death_rows` says whose."""
        return self._death_seqs.array

    @property
    def death_rows(self) -> Int32Array:
        return self._death_rows.array

    def source(self, row: int) -> int:
        """The seq of the event that holds this row's text."""
        return self._text_of(row)[0]

    def sources_at(self, memories: IntArray, seqs: IntArray) -> IntArray:
        """The seq of the event that holds the newest text of memories[i] at seqs[i]; each was born by then."""
        sources: IntArray = self._rows.column("source")[self._rows.at(memories, seqs)]
        return sources

    def _text_of(self, row: int) -> tuple[int, int]:
        source, size = self._rows.values(row)
        return source, size

    def bytes_of(self, rows: Int32Array | IntArray) -> IntArray:
        """How many bytes of UTF-8 the text of each row takes."""
        return self._rows.column("bytes")[rows].astype(np.int64)

    def rows_born(self, seq: int) -> int:
        """How many rows were born at or before `seq`: these are the rows 0 … n-1."""
        return bisect_right(self.born, seq)  # searchsorted would copy the strided column

    def rows_dead(self, seq: int) -> int:
        """How many rows had died at or before `seq`: the first n of `death_rows`."""
        return bisect_right(self.death_seqs, seq)

    def alive(self, rows: Int32Array | IntArray, seq: int) -> BoolArray:
        """Which of these rows are alive at `seq`."""
        return (self._rows.column("seq")[rows] <= seq) & (self._died.array[rows] > seq)

    def living(self, seq: int) -> Int32Array:
        """The rows that are alive at `seq`, in order of birth."""
        rows = np.arange(self.rows_born(seq), dtype=np.int32)
        return rows[self.alive(rows, seq)]

    def rows_of(self, memories: Int32Array | IntArray, seq: int) -> Int32Array:
        """The living row of each memory at `seq`; -1 if it has no living row."""
        rows = self._rows.at(memories, seq)
        rows[(rows >= 0) & (self.died[rows] <= seq)] = -1
        return rows

    def newest_row(self, memory: int, seq: int) -> int:
        """The newest row of a memory at `seq`, alive or not; -1 if it was not born yet."""
        return int(self._rows.at(np.array([memory]), seq)[0])

    def erased_since(self, memory: int, seq: int) -> int | None:
        """The seq at which what a memory held at `seq` was erased; None if it was not."""
        found = (one.seq for one in self.erasures if one.memory == memory and one.first <= seq < one.seq)
        return next(found, None)

    def versions_of(self, memory: int) -> list[int]:
        """All rows of a memory, oldest first."""
        return self._rows.chain(memory)

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        return {
            "ids": self.ids.dump(),
            "erased": np.array(sorted(self._erased), dtype=np.int64),
            "redacted": np.array(sorted(self._redacted.items()), dtype=np.int64).reshape(-1, 2),
            "erasures": np.array(self.erasures, dtype=np.int64).reshape(-1, 3),
            "erased_at": np.array(self.erased_at, dtype=np.int64),
            "died": self._died.array,
            "death_seqs": self._death_seqs.array,
            "death_rows": self._death_rows.array,
            **self._rows.dump("rows"),
        }

    def load(self, state: Saved) -> None:
        self.ids = Interner.load(state["ids"])
        self._erased = set(state["erased"].tolist())
        self._redacted = {memory: bool(shown) for memory, shown in state["redacted"].tolist()}
        self.erasures = [Erasure(*one) for one in state["erasures"].tolist()]
        self.erased_at = state["erased_at"].tolist()
        self._rows.load("rows", state)
        for name, column in (
            ("died", self._died),
            ("death_seqs", self._death_seqs),
            ("death_rows", self._death_rows),
        ):
            column.load(state[name])


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
