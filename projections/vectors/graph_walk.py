"""Search an hnswlib index file without hnswlib, with the same result as an hnswlib built with GNU's C++ library.

hnswlib keeps its candidates in `std::priority_queue`s that compare only distances. Which of several equal ones comes
out first depends on the C++ library, and with equal vectors this decides which rows are found. So a machine with
another library would give another answer from the same file; there the file is searched here, slower, with libstdc++'s
`push_heap` and `pop_heap` step for step. Distances are whole numbers, exact in every arithmetic.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import numpy as np

from recollect.projections.columns import Int32Array, IntArray
from recollect.projections.vectors.embeddings import Float32Array

# What hnswlib 0.8 writes first: offsets and sizes, the rows in use and the bytes of a row among them.
HEADER = struct.Struct("=6Q2i3QdQ")
LENGTH = struct.Struct("=I")
_EF = 10  # hnswlib's own; a search is never narrower
_COUNT_MASK = 0xFFFF  # the upper half of a list's length holds flags

Entry = tuple[float, int]


def push(heap: list[Entry], entry: Entry) -> None:
    """libstdc++'s push_heap: sift up while the parent is smaller."""
    heap.append(entry)
    _sift_up(heap, len(heap) - 1, entry)


def pop(heap: list[Entry]) -> Entry:
    """libstdc++'s pop_heap: the hole of the top goes down to a leaf, then the last entry up from there."""
    largest, value = heap[0], heap.pop()
    count = len(heap)
    if count == 0:
        return largest
    hole = child = 0
    while child < (count - 1) // 2:
        child = 2 * (child + 1)
        if heap[child][0] < heap[child - 1][0]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if count % 2 == 0 and child == (count - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    _sift_up(heap, hole, value)
    return largest


def _sift_up(heap: list[Entry], hole: int, value: Entry) -> None:
    parent = (hole - 1) // 2
    while hole > 0 and heap[parent][0] < value[0]:
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = value


class GraphFile:
    """An index file that is whole, with those of `hnswlib.Index`'s methods that read."""

    def __init__(self, path: Path, dimensions: int) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (_, _, count, record, at_label, at_vector, self._top_level, self._entry, links, *_) = (
            HEADER.unpack_from(self._data)
        )
        self.dim, self.element_count = dimensions, int(count)
        fields = np.dtype({
            "names": ["size", "links", "vector", "label"],
            "formats": ["<u4", ("<u4", at_vector // 4 - 1), ("<f4", dimensions), "<u8"],
            "offsets": [0, 4, at_vector, at_label],
            "itemsize": record,
        })  # fmt: skip
        self._records = np.frombuffer(self._data, dtype=fields, count=self.element_count, offset=HEADER.size)
        self._upper_bytes = 4 * (int(links) + 1)
        self._upper = self._upper_offsets()
        self._place_of = {int(label): place for place, label in enumerate(self._records["label"].tolist())}

    def _upper_offsets(self) -> dict[int, int]:
        """Where the links of places above the base level begin."""
        found, end = {}, HEADER.size + self._records.nbytes
        for place in range(self.element_count):
            (size,) = LENGTH.unpack_from(self._data, end)
            end += LENGTH.size
            if size:
                found[place] = end
            end += size
        return found

    def get_ids_list(self) -> list[int]:
        return list(self._place_of)

    def get_items(self, rows: Int32Array, *, return_type: str) -> Float32Array:
        assert return_type == "numpy"
        points: Float32Array = self._records["vector"][[self._place_of[row] for row in rows.tolist()]]
        return points

    def knn_query(
        self, queries: Float32Array, k: int, *, num_threads: int, filter: None  # noqa: A002 (hnswlib's word)
    ) -> tuple[IntArray, Float32Array]:  # fmt: skip
        """Labels and distances of the k nearest of each; RuntimeError if the graph cannot reach so many."""
        assert (num_threads, filter) == (1, None)
        found = [self._nearest(query, k) for query in np.atleast_2d(queries)]
        labels = np.array([[label for _, label in one] for one in found], dtype=np.int64)
        return labels, np.array([[distance for distance, _ in one] for one in found], dtype=np.float32)

    def _nearest(self, query: Float32Array, k: int) -> list[Entry]:
        """(distance, label) of the nearest, in this order."""
        best = self._base(query, self._descend(query), max(k, _EF))
        if len(best) < k:
            raise RuntimeError(f"{len(best)} of {k} rows can be reached")
        while len(best) > k:
            pop(best)
        labels = self._records["label"]
        return sorted((distance, int(labels[place])) for distance, place in best)

    def _distances(self, query: Float32Array, places: list[int]) -> list[float]:
        dots = self._records["vector"][places] @ query
        distances: list[float] = (np.float32(1) - dots).tolist()
        return distances

    def _descend(self, query: Float32Array) -> int:
        """The nearest place on every upper level, from the top one down."""
        place = int(self._entry)
        (distance,) = self._distances(query, [place])
        for level in range(self._top_level, 0, -1):
            changed = True
            while changed:
                changed = False
                links = self._upper_links(place, level)
                for other, far in zip(links, self._distances(query, links), strict=True):
                    if far < distance:
                        place, distance, changed = other, far, True
        return place

    def _upper_links(self, place: int, level: int) -> list[int]:
        start = self._upper[place] + (level - 1) * self._upper_bytes
        (size,) = LENGTH.unpack_from(self._data, start)
        links: list[int] = np.frombuffer(self._data, "<u4", size & _COUNT_MASK, start + 4).tolist()
        return links

    def _base(self, query: Float32Array, entry: int, width: int) -> list[Entry]:
        """The best `width` entries of the base level, as a heap whose first is the farthest."""
        (distance,) = self._distances(query, [entry])
        best, open_ = [(distance, entry)], [(-distance, entry)]
        seen, bound = {entry}, distance
        while open_ and -open_[0][0] <= bound:
            _, place = pop(open_)
            record = self._records[place]
            links = record["links"][: int(record["size"]) & _COUNT_MASK].tolist()
            fresh = [other for other in links if other not in seen]
            if not fresh:
                continue
            seen.update(fresh)
            for other, far in zip(fresh, self._distances(query, fresh), strict=True):
                if len(best) < width or bound > far:
                    push(open_, (-far, other))
                    push(best, (far, other))
                    if len(best) > width:
                        pop(best)
                    bound = best[0][0]
        return best
