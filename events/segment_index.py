"""The index of one segment: where each event begins, when it was recorded, and its id.

Kept in memory for the segment that grows, and stored behind the frames of a sealed one (`segment_format`), so that
opening a store does not walk through it. Three arrays, one value per event:

    offsets  int64         where its frame begins in the file
    times    int64         its recorded time, µs; decreasing only at a correction of the clock (`clock`)
    ids      16 bytes      its event id

and the number of events per (type, version). Ids are found by a dict while the segment grows (by looking at each
for the first few questions after it was read from a file), and later by bisection: sorted by their two halves as
unsigned numbers, 20 bytes per event, built when first asked for. The type of each event is known only for events that
were put here one by one; it is needed only to take them back.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from recollect.events.frame import Place

ID_BYTES = 16
_SCANNED_IDS = 8
_SCANS = 4
TypeCounts: TypeAlias = Counter[tuple[str, int]]
_Halves: TypeAlias = npt.NDArray[np.uint64]


class SegmentIndex:
    def __init__(self) -> None:
        self.offsets: array[int] = array("q")
        self.times: array[int] = array("q")
        self._ids = bytearray()
        self._kinds: list[tuple[str, int]] = []
        self._kinds_from = 0
        self._shared: dict[tuple[str, int], tuple[str, int]] = {}
        self._types_before: TypeCounts = Counter()
        self._types: tuple[int, TypeCounts] = (0, Counter())
        self._places: dict[bytes, int] | None = {}
        self._scans = 0
        self._sorted: tuple[_Halves, _Halves, npt.NDArray[np.intp]] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def put(self, start: int, places: Sequence[Place]) -> None:
        """Put these events from place `start` on, over what was there.

        An interrupted call may leave some of them; the caller then repeats it from the same start.
        """
        kinds = ((place.type, place.version) for place in places)
        self._kinds[start - self._kinds_from :] = [self._shared.setdefault(kind, kind) for kind in kinds]
        self.offsets[start:] = array("q", [place.offset for place in places])
        self.times[start:] = array("q", [place.at for place in places])
        self._ids[start * ID_BYTES :] = b"".join([place.id for place in places])
        if self._places is not None:
            self._places.update({place.id: number for number, place in enumerate(places, start)})

    def types(self, count: int) -> TypeCounts:
        """How many of the first `count` events have which type and version."""
        counted, types = self._types
        if counted < count:
            start, stop = counted - self._kinds_from, count - self._kinds_from
            types = types + Counter(self._kinds[start:stop])
            self._types = count, types
        return types

    def can_be_cut(self, count: int) -> bool:
        """Whether the types of the events behind the first `count` are known one by one."""
        return self._kinds_from <= count

    def prefix(self, count: int) -> SegmentIndex:
        """An index of the first `count` events; those behind them were put here one by one."""
        assert self._kinds_from <= count
        index = SegmentIndex()
        index.offsets, index.times = self.offsets[:count], self.times[:count]
        index._ids = self._ids[: count * ID_BYTES]
        index._kinds_from, index._kinds = self._kinds_from, self._kinds[: count - self._kinds_from]
        index._types_before = self._types_before
        index._types = self._kinds_from, self._types_before
        index._places = None
        return index

    # --- ids -------------------------------------------------------------------------------------

    def find(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """The places of those ids that are here, in a segment that grows."""
        if self._places is None and len(ids) <= _SCANNED_IDS and self._scans < _SCANS:
            self._scans += 1
            return self._scan(ids)
        if self._places is None:
            ids_here = (bytes(self._ids[at : at + ID_BYTES]) for at in range(0, len(self._ids), ID_BYTES))
            self._places = {id_: place for place, id_ in enumerate(ids_here)}
        places = self._places
        return {id_: places[id_] for id_ in ids if id_ in places}

    def _scan(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """Find ids by comparing each one, so that a command that appends once need not build a dict of all."""
        highs, lows = _halves(bytes(self._ids))
        wanted_highs, wanted_lows = _halves(b"".join(ids))
        found: dict[bytes, int] = {}
        for id_, high, low in zip(ids, wanted_highs, wanted_lows, strict=True):
            places = np.flatnonzero((highs == high) & (lows == low))
            if len(places):
                found[id_] = int(places[-1])
        return found

    def find_sealed(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """The same in a segment that no longer grows."""
        self._places = None
        if self._sorted is None:
            highs, lows = _halves(bytes(self._ids))
            order = np.lexsort((lows, highs))
            self._sorted = highs[order], lows[order], order
        highs, lows, order = self._sorted
        wanted_highs, wanted_lows = _halves(b"".join(ids))
        starts = np.searchsorted(highs, wanted_highs, side="left")
        stops = np.searchsorted(highs, wanted_highs, side="right")
        found: dict[bytes, int] = {}
        for n in np.flatnonzero(starts < stops).tolist():
            place = starts[n] + np.searchsorted(lows[starts[n] : stops[n]], wanted_lows[n])
            if place < stops[n] and lows[place] == wanted_lows[n]:
                found[ids[n]] = int(order[place])
        return found

    def id_range(self) -> tuple[bytes, bytes]:
        """The lowest and the highest id; for an empty index, a range that contains no id."""
        if not len(self):
            return b"\xff" * ID_BYTES, bytes(ID_BYTES)
        highs, lows = _halves(bytes(self._ids))
        low, high = highs.min(), highs.max()
        return _joined(low, lows[highs == low].min()), _joined(high, lows[highs == high].max())

    # --- stored form -----------------------------------------------------------------------------

    def encode(self) -> bytes:
        counts = sorted(self.types(len(self)).items())
        types = [(type_, version, count) for (type_, version), count in counts]
        return b"".join(
            (_little(self.offsets), _little(self.times), bytes(self._ids), msgspec.msgpack.encode(types))
        )

    @classmethod
    def decode(cls, data: bytes, count: int) -> SegmentIndex:
        """From `encode`; the caller has checked its digest."""
        index = cls()
        index.offsets = _from_little(data[: 8 * count])
        index.times = _from_little(data[8 * count : 16 * count])
        index._ids = bytearray(data[16 * count : 32 * count])
        index._places, index._kinds_from = None, count
        types = msgspec.msgpack.decode(data[32 * count :], type=list[tuple[str, int, int]])
        index._types_before = Counter({(type_, version): number for type_, version, number in types})
        index._types = count, index._types_before
        return index


def _halves(ids: bytes) -> tuple[_Halves, _Halves]:
    pairs = np.frombuffer(ids, dtype=">u8").astype(np.uint64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _joined(high: np.uint64, low: np.uint64) -> bytes:
    return int(high).to_bytes(8, "big") + int(low).to_bytes(8, "big")


def _little(values: array[int]) -> bytes:
    return np.frombuffer(values, dtype=np.int64).astype("<i8").tobytes() if values else b""


def _from_little(data: bytes) -> array[int]:
    values: array[int] = array("q")
    values.frombytes(np.frombuffer(data, dtype="<i8").astype(np.int64).tobytes())
    return values
