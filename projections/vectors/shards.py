"""Shards: immutable HNSW graphs over blocks of rows.

A shard is built once, from its rows in row order, by one thread with a fixed seed: the same rows give the same
bytes. hnswlib does not save its level generator, so a shard is never extended after it was built or loaded.
How it is built and searched has a name (`shard_names.py`); `shard_cache.py` keeps its file.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recollect.events.errors import RecollectError
from recollect.projections.columns import Int32Array, IntArray
from recollect.projections.vectors import background
from recollect.projections.vectors.embeddings import Float32Array, Space
from recollect.projections.vectors.graph_walk import HEADER, LENGTH, GraphFile
from recollect.projections.vectors.shard_names import Builder

if TYPE_CHECKING:
    import hnswlib

Progress = Callable[[int, int], None]

# A build can be stopped between slices: a few tenths of a second in a large shard.
_SLICE_ROWS = 200
# 1 - dot rounds to this for the two lowest dots, -2**24 and 1 - 2**24.
_DISTANCE_MAX = 2.0**24

_SAMPLES = 16
_SAMPLE_NEIGHBOURS = 10
_COMPARED_ROWS = 1_000


class BuildStopped(RecollectError):
    """The build of a shard was told to stop; nothing was written."""


class ShardRows(NamedTuple):
    """What a shard is built from: its rows in ascending order, and where their vectors stand."""

    rows: Int32Array
    slots: IntArray
    space: Space

    @property
    def dimensions(self) -> int:
        return self.space.dimensions

    def points(self, first: int, end: int) -> Float32Array:
        return self.space.gather(self.slots[first:end])


class Nearest(NamedTuple):
    """Rows of a shard, best first, and their dot products."""

    rows: Int32Array
    dots: IntArray


class Shard:
    """A graph that is ready to be searched. An empty one has no graph and finds nothing."""

    def __init__(self, index: hnswlib.Index | GraphFile | None) -> None:
        self._index = index

    def nearest(self, query: Float32Array, k: int) -> Nearest | None:
        """About the k rows of largest dot product, best first; None if the graph cannot reach so many.

        The search is as wide as k (hnswlib takes the larger of ef and k), so the index itself is not touched.
        """
        if self._index is None:
            return None
        try:
            labels, distances = self._index.knn_query(query, k=k, num_threads=1, filter=None)
        except RuntimeError:
            return None
        if distances[0, -1] >= _DISTANCE_MAX:
            return None
        return Nearest(labels[0].astype(np.int32), 1 - distances[0].astype(np.int64))

    @property
    def dimensions(self) -> int:
        return 0 if self._index is None else int(self._index.dim)

    @property
    def count(self) -> int:
        return 0 if self._index is None else int(self._index.element_count)

    def save(self, path: Path) -> None:
        """Write the file. hnswlib does not check for write errors; `flaw` and `load_shard` do."""
        assert not isinstance(self._index, GraphFile)  # a graph file is a file already
        if self._index is None:
            path.touch()
        else:
            self._index.save_index(str(path))

    def rows(self) -> Int32Array:
        """The rows that it holds, ascending."""
        return np.sort(np.array([] if self._index is None else self._index.get_ids_list(), dtype=np.int32))

    def points(self, rows: Int32Array) -> Float32Array:
        """The vectors that it holds for these of its rows."""
        assert self._index is not None
        return np.asarray(self._index.get_items(rows, return_type="numpy"), dtype=np.float32)

    def answers_as(self, other: Shard) -> bool:
        """Whether both hold the same rows and find the same neighbours of some of them, at the same distances."""
        if self._index is None or other._index is None:
            return self._index is other._index
        rows = self.rows()
        if not np.array_equal(rows, other.rows()):
            return False
        queries = self.points(rows[sampled(len(rows))])
        wide = min(_SAMPLE_NEIGHBOURS, len(rows))
        found, again = (
            index.knn_query(queries, k=wide, num_threads=1, filter=None)
            for index in (self._index, other._index)
        )
        return all(np.array_equal(one, two) for one, two in zip(found, again, strict=True))

    def unlike(self, source: ShardRows, *, whole: bool = False) -> str | None:
        """How it differs from what it should be built from: its rows, and some or all of its vectors; None if equal."""
        if not np.array_equal(self.rows(), source.rows):
            return f"it holds {self.count} rows that are not the {len(source.rows)} rows of its block"
        count = len(source.rows)
        starts = range(0, count, _COMPARED_ROWS) if whole else sampled(count).tolist()
        for first in starts:
            end = min(first + _COMPARED_ROWS, count) if whole else first + 1
            rows = source.rows[first:end]
            differs = (self.points(rows) != source.points(first, end)).any(axis=1)
            if differs.any():
                return f"its vector of row {rows[differs][0]} is not the one of the log"
        return None


def sampled(count: int) -> IntArray:
    """Some places among `count`, the first and the last included."""
    return np.unique(np.linspace(0, count - 1, min(count, _SAMPLES)).astype(np.int64))


def flaw(path: Path, count: int) -> str | None:
    """Why a file is not a whole index of `count` rows; None if nothing is wrong.

    The file: a header, one record of equal size per row, and per row the length of its upper links and these.
    """
    size = path.stat().st_size
    if count == 0:
        return f"it should be empty and has {size} bytes" if size else None
    if size <= HEADER.size:
        return f"it ends after {size} bytes, within its header"
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        _, _, rows, record, *_ = HEADER.unpack_from(data)
        if rows != count:
            return f"its header counts {rows} rows, not {count}"
        end = HEADER.size + rows * record
        for _ in range(rows):
            if end + LENGTH.size > size:
                break
            end += LENGTH.size + LENGTH.unpack_from(data, end)[0]
        else:
            return None if end == size else f"it has {size} bytes where {end} were expected"
    return f"it ends after {size} bytes, before its last row"


def load_shard(path: Path, *, dimensions: int, count: int, foreign: bool = False) -> Shard:
    """The shard in a file; RuntimeError or MemoryError if it cannot be loaded.

    `foreign` means that hnswlib here would search it differently than where it was built; `graph_walk` searches it.
    """
    import hnswlib  # noqa: PLC0415

    if count == 0:
        return Shard(None)
    if foreign:
        wrong = flaw(path, count)
        if wrong is not None:
            raise RuntimeError(wrong)
        return Shard(GraphFile(path, dimensions))
    index = hnswlib.Index(space="ip", dim=dimensions)
    index.load_index(str(path), max_elements=count, allow_replace_deleted=False)
    return Shard(index)


def build_shard(
    source: ShardRows,
    builder: Builder,
    *,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Shard:
    """Build in slices, so that a build can report and be stopped; slices do not change the result."""
    import hnswlib  # noqa: PLC0415 (most openings of a store build and load no shard)

    count = len(source.rows)
    if count == 0:
        return Shard(None)
    index = hnswlib.Index(space="ip", dim=source.dimensions)
    index.init_index(
        max_elements=count,
        M=builder.M,
        ef_construction=builder.ef_construction,
        random_seed=builder.seed,
        allow_replace_deleted=False,
    )
    for first in range(0, count, _SLICE_ROWS):
        if background.ending.is_set() or (stop is not None and stop.is_set()):
            raise BuildStopped(f"stopped after {first} of {count} rows; the rows stay in the exact tail")
        end = min(first + _SLICE_ROWS, count)
        index.add_items(
            source.points(first, end), source.rows[first:end], num_threads=1, replace_deleted=False
        )
        if progress is not None:
            progress(end, count)
    return Shard(index)
