"""Which vector each row has, and of which embedder.

Every embedder has a `Space` with a number; number 0 is for vectors from before the first was adopted. A row
belongs to the embedder in force when its vector was given, a copied vector to that of its original. An embedder
that is adopted again gets its old space back.

Vectors wait in `_pending` until they are read: storing some hundred at a time is cheap.
One lock guards the pending vectors, so that a sealing thread may read while the log is folded.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from recollect.events import grid
from recollect.events.facts import EmbedderAdopted
from recollect.events.grid import GridArray
from recollect.projections.columns import (
    BoolArray,
    Column,
    Int32Array,
    IntArray,
    Interner,
    Saved,
    State,
    distinct,
)
from recollect.projections.documents import Documents, NewRow

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
        self._lock = threading.RLock()

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
                self._pend(new.row, self._newest(), new.vector)
            elif new.vector_of >= 0:
                found = self._pending.get(new.vector_of) or self._stored(new.vector_of)
                if found is not None:
                    self._pend(new.row, *found)

    def add_many(self, first_row: int, vectors: list[bytes | None]) -> None:
        """The vectors of rows that were born one after the other."""
        with self._lock:
            number = self._newest()
            for row, vector in enumerate(vectors, first_row):
                if vector is not None:
                    self._pend(row, number, vector)

    def _newest(self) -> int:
        """The number of the embedder adopted last."""
        newest = len(self._adopted) - 1
        return int(self._adopted[newest]) if newest >= 0 else 0

    def _pend(self, row: int, number: int, vector: bytes) -> None:
        space = self._spaces[number]
        if space.dimensions == 0 and len(vector) % 2 == 0:
            space.dimensions = len(vector) // 2
        if vector and len(vector) == 2 * space.dimensions:
            self._pending[row] = (number, vector)
            if len(self._pending) >= _PENDING_MAX:
                self.flush()

    def _stored(self, row: int) -> tuple[int, bytes] | None:
        if row >= len(self._number_of) or self._number_of[row] < 0:
            return None
        number = int(self._number_of[row])
        return number, grid.to_bytes(self._spaces[number].point(int(self._slot_of[row])))

    def flush(self) -> None:
        """Store what is pending; afterwards every row has the number of its space and its slot, or -1."""
        with self._lock:
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

    def numbers_of(self, rows: Int32Array) -> Int32Array:
        self.flush()
        return self._number_of.array[rows].astype(np.int32)

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

    def load(self, state: Saved) -> None:
        self._names = Interner.load(state["embedders"])
        self._adopted_seqs.load(state["adopted_seqs"])
        self._adopted.load(state["adopted"])
        self._number_of.load(state["number_of"])
        self._slot_of.load(state["slot_of"])
        self._pending.clear()
        self._spaces = [Space() for _ in self._names.values]
        for number, space in enumerate(self._spaces):
            rows, points, norms2 = (state[f"{number}.{key}"] for key in ("rows", "points", "norms2"))
            space.adopt(rows, points, norms2)


Float32Array = npt.NDArray[np.float32]

CHUNK_SLOTS = 16_384
_BLOCK_SLOTS = 1_024
_STRIP_SLOTS = 16


def products(points: Float32Array, query: Float32Array) -> Float32Array:
    """points @ query, in strips so small that BLAS does not start its threads.

    Waiting for a thread that has no free core takes longer than the whole computation.
    """
    found: Float32Array = np.empty(len(points), dtype=np.float32)
    even = len(points) // _STRIP_SLOTS * _STRIP_SLOTS
    strips = points[:even].reshape(-1, _STRIP_SLOTS, points.shape[1])
    np.matmul(strips, query, out=found[:even].reshape(-1, _STRIP_SLOTS))
    np.matmul(points[even:], query, out=found[even:])
    return found


class Space:
    """All vectors of one embedder, in row order: whole numbers in int16, two bytes per dimension.

    Vectors stand in slots 0, 1, 2, …; `rows` names the row of each slot, ascending, `norms2` its squared norm.
    The matrix grows by whole chunks and is never copied; a matrix from a checkpoint becomes the first chunk as
    it is. Slots from `float_from` on (those that no shard covers yet) are kept a second time as float32, for they
    are scanned by every search; other slots are widened block by block when they are needed.
    Everything here is append-only, so one thread may read slots that exist while another appends.

    The vectors of one embedder; `dimensions` 0 means not known before the first vector.
    """

    def __init__(self, dimensions: int = 0) -> None:
        self.dimensions = dimensions
        self.rows: Column[np.int32] = Column(np.int32)
        self.norms2: Column[np.int32] = Column(np.int32)
        self._first: GridArray = np.empty((0, dimensions), dtype=np.int16)
        self._chunks: list[GridArray] = []
        self._floats: Float32Array = np.empty((0, dimensions), dtype=np.float32)
        self._floats_filled = 0
        self.float_from = 0
        self._float_lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.rows)

    # --- growing ---------------------------------------------------------------------------------

    def extend(self, rows: Int32Array, points: GridArray, norms2: IntArray) -> None:
        """New slots for `rows`, which come after all rows before."""
        assert points.shape == (len(rows), self.dimensions)
        slot, done = len(self), 0
        while done < len(rows):
            chunk, offset = divmod(slot + done - len(self._first), CHUNK_SLOTS)
            if chunk == len(self._chunks):
                self._chunks.append(np.empty((CHUNK_SLOTS, self.dimensions), dtype=np.int16))
            size = min(len(rows) - done, CHUNK_SLOTS - offset)
            self._chunks[chunk][offset : offset + size] = points[done : done + size]
            done += size
        self.norms2.extend(norms2)
        self.rows.extend(rows)

    def adopt(self, rows: Int32Array, points: GridArray, norms2: Int32Array) -> None:
        """Take over the arrays of a checkpoint without a copy; nothing may have been added before."""
        assert len(self) == 0
        self.dimensions = points.shape[1]
        self._first = points
        self.norms2.load(norms2)
        self.rows.load(rows)

    def matrix(self) -> GridArray:
        """All points in one array."""
        blocks = list(self.blocks(0, len(self)))
        if len(blocks) == 1:
            return blocks[0]
        return np.concatenate(blocks) if blocks else np.empty((0, self.dimensions), dtype=np.int16)

    # --- reading ---------------------------------------------------------------------------------

    def slots_before(self, row: int) -> int:
        """How many slots belong to rows < `row`."""
        return int(np.searchsorted(self.rows.array, row))

    def point(self, slot: int) -> GridArray:
        (point,) = next(self.blocks(slot, slot + 1))
        return np.asarray(point)

    def gather(self, slots: IntArray | Int32Array) -> Float32Array:
        """The points of these slots, as float32."""
        points = np.empty((len(slots), self.dimensions), dtype=np.float32)
        chunks = (slots - len(self._first)) // CHUNK_SLOTS
        if len(self._first):
            old = slots < len(self._first)
            chunks[old] = -1
            points[old] = self._first[slots[old]]
        for chunk in distinct(chunks[chunks >= 0]).tolist():
            here = chunks == chunk
            points[here] = self._chunks[chunk][slots[here] - len(self._first) - chunk * CHUNK_SLOTS]
        return points

    def dots(self, query: Float32Array, slots: IntArray | Int32Array) -> Float32Array:
        """Dot products with the points of these slots."""
        found: Float32Array = np.empty(len(slots), dtype=np.float32)
        for first in range(0, len(slots), _BLOCK_SLOTS):
            block = slots[first : first + _BLOCK_SLOTS]
            found[first : first + len(block)] = products(self.gather(block), query)
        return found

    def scan(self, query: Float32Array, first: int, end: int) -> Float32Array:
        """Dot products with every point in slots [first, end)."""
        found: Float32Array = np.empty(end - first, dtype=np.float32)
        wide, floats = self._float_part(first, end)
        done = 0
        for block in self.blocks(first, wide):
            found[done : done + len(block)] = products(block.astype(np.float32), query)
            done += len(block)
        found[done:] = products(floats, query)
        return found

    def blocks(self, first: int, end: int) -> Iterator[GridArray]:
        """The points of slots [first, end), some thousand at a time."""
        while first < end:
            chunk, offset = divmod(first - len(self._first), CHUNK_SLOTS)
            source = self._first if first < len(self._first) else self._chunks[chunk]
            start = first if first < len(self._first) else offset
            block = source[start : min(start + _BLOCK_SLOTS, start + end - first)]
            yield block
            first += len(block)

    # --- the float32 tail --------------------------------------------------------------------------

    def widen_from(self, slot: int) -> None:
        """Keep float32 copies only from `slot` on."""
        with self._float_lock:
            if slot != self.float_from:
                self._floats = np.empty((0, self.dimensions), dtype=np.float32)
                self._floats_filled = 0
                self.float_from = slot

    def _float_part(self, first: int, end: int) -> tuple[int, Float32Array]:
        """From which slot in [first, end] on there are float32 copies up to `end`, and these."""
        with self._float_lock:
            start, filled = self.float_from, self._floats_filled
            wide = min(max(first, start), end)
            if wide == end:
                return end, np.empty((0, self.dimensions), dtype=np.float32)
            if end - start > len(self._floats):
                room = np.empty((max(end - start, 2 * len(self._floats)), self.dimensions), dtype=np.float32)
                if filled:
                    room[:filled] = self._floats[:filled]
                self._floats = room
            for block in self.blocks(start + filled, end):
                self._floats[filled : filled + len(block)] = block
                filled += len(block)
            self._floats_filled = filled
            return wide, self._floats[wide - start : end - start]
