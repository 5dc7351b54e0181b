"""Which vector each row has, and of which embedder.

Every embedder has a `Space` with a number; number 0 is for vectors from before the first was adopted. A row
belongs to the embedder in force when its vector was given, a copied vector to that of its original. An embedder
that is adopted again gets its old space back.

Vectors wait in `_pending` until somebody reads, for it is some hundred at a time that they are cheap to store.
One lock guards the pending vectors, so that a sealing thread may read while the log is folded.
"""

from __future__ import annotations

import threading
from bisect import bisect_right

import numpy as np

from recollect.events import grid
from recollect.events.facts import EmbedderAdopted
from recollect.events.grid import GridArray
from recollect.projections.columns import (
    BoolArray,
    Column,
    Int32Array,
    IntArray,
    Interner,
    State,
    state_array,
    state_bytes,
)
from recollect.projections.documents import Documents, NewRow
from recollect.projections.vectors.space import Space

_PENDING_MAX = 1_024


class Embeddings:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._names = Interner([""])
        self._spaces = [Space()]
        self._adopted_seqs: Column[np.int64] = Column(np.int64)
        self._adopted: Column[np.int32] = Column(np.int32)
        self._number_of: Column[np.int32] = Column(np.int32)
        self._slot_of: Column[np.int32] = Column(np.int32)
        self._pending: dict[int, tuple[int, bytes]] = {}
        self._lock = threading.Lock()

    # --- folding ---------------------------------------------------------------------------------

    def adopt(self, adopted: EmbedderAdopted, seq: int) -> None:
        number = self._names.number(f"{adopted.dimensions}/{adopted.probe.hex()}/{adopted.name}")
        if number == len(self._spaces):
            self._spaces.append(Space(adopted.dimensions))
        self._adopted_seqs.append(seq)
        self._adopted.append(number)

    def add(self, new: NewRow) -> None:
        """Take the vector of a new row; one of the wrong length is left out."""
        with self._lock:
            if new.vector is not None:
                newest = len(self._adopted) - 1
                self._pend(new.row, int(self._adopted[newest]) if newest >= 0 else 0, new.vector)
            elif new.vector_of >= 0:
                found = self._pending.get(new.vector_of) or self._stored(new.vector_of)
                if found is not None:
                    self._pend(new.row, *found)

    def add_many(self, first_row: int, vectors: list[bytes | None]) -> None:
        """The vectors of rows that were born one after the other."""
        with self._lock:
            newest = len(self._adopted) - 1
            number = int(self._adopted[newest]) if newest >= 0 else 0
            for row, vector in enumerate(vectors, first_row):
                if vector is not None:
                    self._pend(row, number, vector)

    def _pend(self, row: int, number: int, vector: bytes) -> None:
        space = self._spaces[number]
        if space.dimensions == 0 and len(vector) % 2 == 0:
            space.dimensions = len(vector) // 2
        if vector and len(vector) == 2 * space.dimensions:
            self._pending[row] = (number, vector)
            if len(self._pending) >= _PENDING_MAX:
                self._flush()

    def _stored(self, row: int) -> tuple[int, bytes] | None:
        if row >= len(self._number_of) or self._number_of[row] < 0:
            return None
        number = int(self._number_of[row])
        return number, grid.to_bytes(self._spaces[number].point(int(self._slot_of[row])))

    def flush(self) -> None:
        """Store what is pending; afterwards every row has the number of its space and its slot, or -1."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        missing = self._documents.rows - len(self._number_of)
        if missing == 0 and not self._pending:
            return
        for column in (self._number_of, self._slot_of):
            column.extend(np.full(missing, -1, dtype=np.int32))
        pending, self._pending = self._pending, {}
        for number in sorted({number for number, _ in pending.values()}):
            vectors = {row: vector for row, (owner, vector) in pending.items() if owner == number}
            self._store(number, np.fromiter(vectors, dtype=np.int32), b"".join(vectors.values()))

    def _store(self, number: int, rows: Int32Array, data: bytes) -> None:
        """New slots for these rows; vectors off the grid are left out, they would make sums inexact."""
        space = self._spaces[number]
        points = grid.from_bytes(data).reshape(len(rows), space.dimensions)
        wide = points.astype(np.float64)
        norms2 = np.einsum("ij,ij->i", wide, wide).astype(np.int64)
        on_grid = (norms2 > 0) & (norms2 <= grid.NORM2_MAX)
        rows = rows[on_grid]
        self._slot_of.array[rows] = np.arange(len(space), len(space) + len(rows))
        self._number_of.array[rows] = number
        space.extend(rows, points[on_grid], norms2[on_grid])

    # --- reading ---------------------------------------------------------------------------------

    def number_at(self, seq: int) -> int:
        """The number of the embedder in force at `seq`."""
        known = bisect_right(self._adopted_seqs.array, seq)
        return int(self._adopted[known - 1]) if known else 0

    def space(self, number: int) -> Space:
        return self._spaces[number]

    def space_at(self, seq: int) -> Space:
        return self._spaces[self.number_at(seq)]

    def number_of(self, row: int) -> int:
        """The number of the row's embedder, -1 if it has no vector."""
        self.flush()
        return int(self._number_of[row])

    def vector(self, row: int) -> GridArray | None:
        number = self.number_of(row)
        return None if number < 0 else self._spaces[number].point(int(self._slot_of[row]))

    def slots_of(self, rows: Int32Array | IntArray) -> IntArray:
        """The slots of rows that have a vector."""
        return self._slot_of.array[rows].astype(np.int64)

    def belong(self, rows: Int32Array | IntArray, seq: int) -> BoolArray:
        """Which of these rows have a vector of the embedder in force at `seq`."""
        self.flush()
        return np.equal(self._number_of.array[rows], self.number_at(seq))

    # --- checkpoints -------------------------------------------------------------------------------

    def dump(self) -> State:
        self.flush()
        state: State = {
            "embedders": self._names.dump(),
            "adopted_seqs": self._adopted_seqs.array,
            "adopted": self._adopted.array,
            "number_of": self._number_of.array,
            "slot_of": self._slot_of.array,
        }
        for number, space in enumerate(self._spaces):
            state[f"{number}.points"] = space.matrix()
            state[f"{number}.rows"] = space.rows.array
            state[f"{number}.norms2"] = space.norms2.array
        return state

    def load(self, state: State) -> None:
        self._names = Interner.load(state_bytes(state, "embedders"))
        self._adopted_seqs.load(state_array(state, "adopted_seqs"))
        self._adopted.load(state_array(state, "adopted"))
        self._number_of.load(state_array(state, "number_of"))
        self._slot_of.load(state_array(state, "slot_of"))
        self._pending.clear()
        self._spaces = [Space() for _ in self._names.values]
        for number, space in enumerate(self._spaces):
            rows, points, norms2 = (
                state_array(state, f"{number}.{key}") for key in ("rows", "points", "norms2")
            )
            space.adopt(rows, points, norms2)
