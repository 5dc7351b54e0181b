"""Shards: immutable HNSW graphs over blocks of rows.

A shard is built once, from its rows in row order, by one thread with a fixed seed: the same rows give the same
bytes. hnswlib does not save its level generator, so a shard is never extended after it was built or loaded.
How it is built and searched has a name (`shard_names.py`); `shard_cache.py` keeps its file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from recollect.events.errors import RecollectError
from recollect.projections.columns import Int32Array, IntArray
from recollect.projections.shard_names import Builder
from recollect.projections.space import Float32Array

if TYPE_CHECKING:
    import hnswlib

Progress = Callable[[int, int], None]

_SLICE_ROWS = 1_000
# 1 - dot rounds to this for the two lowest dots, -2**24 and 1 - 2**24.
_DISTANCE_MAX = 2.0**24


class BuildStopped(RecollectError):
    """The build of a shard was told to stop; nothing was written."""


class Source(Protocol):
    """What a shard is built from: rows in ascending order, and their points as float32."""

    @property
    def rows(self) -> Int32Array: ...

    @property
    def dimensions(self) -> int: ...

    def points(self, first: int, end: int) -> Float32Array: ...


class Nearest(NamedTuple):
    """Rows of a shard, best first, and their dot products."""

    rows: Int32Array
    dots: IntArray


class Shard:
    """A graph that is ready to be searched. An empty one has no graph and finds nothing."""

    def __init__(self, index: hnswlib.Index | None) -> None:
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

    def save(self, path: Path) -> None:
        if self._index is None:
            path.touch()
        else:
            self._index.save_index(str(path))


def build_shard(
    source: Source,
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
        if stop is not None and stop.is_set():
            raise BuildStopped(f"stopped after {first} of {count} rows; the rows stay in the exact tail")
        end = min(first + _SLICE_ROWS, count)
        index.add_items(
            source.points(first, end), source.rows[first:end], num_threads=1, replace_deleted=False
        )
        if progress is not None:
            progress(end, count)
    return Shard(index)
