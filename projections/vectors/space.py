"""All vectors of one embedder, in row order: whole numbers in int16, two bytes per dimension.

Vectors stand in slots 0, 1, 2, …; `rows` names the row of each slot, ascending, `norms2` its squared norm.
The matrix grows by whole chunks and is never copied; a matrix from a checkpoint becomes the first chunk as
it is. Slots from `float_from` on (those that no shard covers yet) are kept a second time as float32, for they
are scanned by every search; other slots are widened block by block when somebody needs them.
Everything here is append-only, so one thread may read slots that exist while another appends.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from recollect.events.grid import GridArray
from recollect.projections.columns import Column, Int32Array, IntArray, distinct

Float32Array = npt.NDArray[np.float32]

CHUNK_SLOTS = 16_384
_BLOCK_SLOTS = 1_024
_STRIP_SLOTS = 16


def products(points: Float32Array, query: Float32Array) -> Float32Array:
    """points @ query, in strips so small that BLAS leaves its threads alone.

    Waiting for a thread that has no core to run on takes longer than all of the arithmetic.
    """
    found: Float32Array = np.empty(len(points), dtype=np.float32)
    even = len(points) // _STRIP_SLOTS * _STRIP_SLOTS
    strips = points[:even].reshape(-1, _STRIP_SLOTS, points.shape[1])
    np.matmul(strips, query, out=found[:even].reshape(-1, _STRIP_SLOTS))
    np.matmul(points[even:], query, out=found[even:])
    return found


class Space:
    """The vectors of one embedder; `dimensions` 0 means not known before the first vector."""

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
