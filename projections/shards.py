"""Shards: immutable HNSW graphs over blocks of rows, and the files that keep them.

A shard is built once, from its rows in row order, by one thread with a fixed seed: the same rows give the same
bytes. hnswlib does not save its level generator, so a shard is never extended after it was built or loaded.
Its file is `<digest>.hnsw`, the digest being the sha256 of the bytes; files are a cache. A file that is missing
or does not match its name is built again from the vectors, and must then have the digest that the event says.

How a shard was built and how it is searched has a name, such as "hnswlib-0.8/ip/M24/efc140/seed100/ef200+200/3",
which stands in the event: an old shard is rebuilt and searched in its own way for ever. The last number is the
rule by which it is searched: under 1 every shard is searched as wide as if it were the only one; under 2 and 3 one
of several is searched less wide at first, by their number or by its share of the rows (`Builder.glance`).
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec
import numpy as np

from recollect.events.errors import RecollectError
from recollect.events.facts import ShardSealed
from recollect.projections.columns import Int32Array, IntArray
from recollect.projections.space import Float32Array

if TYPE_CHECKING:
    import hnswlib

Progress = Callable[[int, int], None]

_SLICE_ROWS = 1_000
_NAME = re.compile(r"hnswlib-0\.8/ip/M(\d+)/efc(\d+)/seed(\d+)/ef(\d+)\+(\d+)/([123])")
# 1 - dot rounds to this for the two lowest dots, -2**24 and 1 - 2**24.
_DISTANCE_MAX = 2.0**24


class ShardMismatch(RecollectError):
    """A shard that was built again is not the one that the log speaks of."""

    def __init__(self, *, expected: str, actual: str, builder: str) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"the shard {expected} was built again with {builder} and came out as {actual}; "
            f"put the file {expected}.hnsw back from a copy of the store, or open it where it was sealed"
        )


class UnknownBuilder(RecollectError):
    """A shard names a builder that this version of Recollect does not have."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"a shard was sealed by {name!r}, which this version does not know; update Recollect"
        )


class BuildStopped(RecollectError):
    """The build of a shard was told to stop; nothing was written."""


class Builder(msgspec.Struct, frozen=True, kw_only=True):
    """How a shard is built (M, ef_construction, seed), and how wide it is searched: `ef_per_100` for every 100
    rows asked for, at least `ef_min`.

    Measured on 98,304 MiniLM-like vectors at top 100: recall 0.991 with 200 per 100, 0.993 with 250, 0.995 with
    300; M 16 loses 0.003 at each, and a larger ef_construction costs more time than it saves.
    """

    M: int = 24
    ef_construction: int = 140
    seed: int = 100
    ef_min: int = 200
    ef_per_100: int = 200
    rule: int = 3

    @property
    def name(self) -> str:
        built = f"M{self.M}/efc{self.ef_construction}/seed{self.seed}"
        return f"hnswlib-0.8/ip/{built}/ef{self.ef_min}+{self.ef_per_100}/{self.rule}"

    @staticmethod
    @cache
    def parse(name: str) -> Builder:
        match = _NAME.fullmatch(name)
        if match is None:
            raise UnknownBuilder(name)
        M, ef_construction, seed, ef_min, ef_per_100, rule = map(int, match.groups())
        return Builder(
            M=M, ef_construction=ef_construction, seed=seed, ef_min=ef_min, ef_per_100=ef_per_100, rule=rule
        )

    def widths(self, top: int) -> tuple[int, ...]:
        """How many rows a search asks for, first and when too few of them were visible."""
        width = max(self.ef_min, self.ef_per_100 * top // 100)
        return (width, 2 * width, 4 * width)

    def glance(self, top: int, count: int, others: Sequence[int]) -> Glance | None:
        """How one of several shards is searched first, if not at once as if it were the only one.

        The best rows are spread over the shards, so each has to give only some of them. One of `count` rows beside
        shards of `others` rows is asked for fewer: by the root of their number (rule 2), or by its share of all
        rows to the power of 3/4 (rule 3, unless that spares less than a tenth).
        """
        whole = self.widths(top)[0]
        if self.rule == 1 or not others:
            return None
        if self.rule == 2:
            width = math.ceil(whole / math.sqrt(1 + len(others)))
            return Glance(width, enough=2 * width // 5)
        root = math.sqrt(
            count / (count + sum(others))
        )  # square roots are the same on every machine, powers are not
        width = math.ceil(whole * root * math.sqrt(root))
        return Glance(width, enough=width // 2) if 10 * width < 9 * whole else None


class Glance(NamedTuple):
    """A narrow search: for `width` rows. A shard with more than `enough` of them among the best is searched again."""

    width: int
    enough: int


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


class ShardCache:
    """Loaded shards by digest, in front of the files. Pinned ones stay; of the others the last few used.

    Without a directory shards live in memory alone.
    """

    def __init__(self, directory: Path | None, *, room: int = 4) -> None:
        self._directory = directory
        self._room = room
        self._loaded: OrderedDict[str, Shard] = OrderedDict()
        self._pinned: frozenset[str] = frozenset()
        self._lock = threading.RLock()

    def get(
        self, sealed: ShardSealed, source: Callable[[], Source], progress: Progress | None = None
    ) -> Shard:
        """The shard of this event: loaded, read from its file, or built again from `source`."""
        with self._lock:
            shard = self._loaded.get(sealed.digest)
            if shard is None:
                shard = self._read(sealed, source) or self._rebuild(sealed, source(), progress)
            self._keep(sealed.digest, shard)
            return shard

    def add(self, shard: Shard) -> str:
        """Write a new shard's file and keep it loaded; returns its digest."""
        try:
            digest = self._write(shard)
        except FileNotFoundError:  # an erasure deleted the unfinished file
            digest = self._write(shard)
        with self._lock:
            self._keep(digest, shard)
        return digest

    def pin(self, digests: Iterable[str]) -> None:
        """These shards stay loaded from now on, once they are; those pinned before may go."""
        with self._lock:
            self._pinned = frozenset(digests)
            self._shrink()

    def purge(self) -> None:
        """Unload every shard and delete every file: they are built again when needed."""
        with self._lock:
            self._loaded.clear()
            if self._directory is not None and self._directory.exists():
                for path in [*self._directory.glob("*.hnsw"), *self._directory.glob("*.building")]:
                    path.unlink(missing_ok=True)

    def keep_only(self, digests: Container[str]) -> list[str]:
        """Unload all other shards and delete their files and unfinished ones; the names of the files."""
        with self._lock:
            for digest in [digest for digest in self._loaded if digest not in digests]:
                del self._loaded[digest]
            if self._directory is None or not self._directory.exists():
                return []
            gone = [path for path in sorted(self._directory.glob("*.hnsw")) if path.stem not in digests]
            gone += sorted(self._directory.glob("*.building"))
            for path in gone:
                path.unlink(missing_ok=True)
            return [path.name for path in gone]

    def _keep(self, digest: str, shard: Shard) -> None:
        self._loaded[digest] = shard
        self._loaded.move_to_end(digest)
        self._shrink()

    def _shrink(self) -> None:
        free = [digest for digest in self._loaded if digest not in self._pinned]
        for digest in free[: max(0, len(free) - self._room)]:
            del self._loaded[digest]

    def _read(self, sealed: ShardSealed, source: Callable[[], Source]) -> Shard | None:
        import hnswlib  # noqa: PLC0415

        if sealed.count == 0:
            return Shard(None)
        if self._directory is None:
            return None
        path = self._directory / f"{sealed.digest}.hnsw"
        if not path.is_file() or file_digest(path) != sealed.digest:
            return None
        index = hnswlib.Index(space="ip", dim=source().dimensions)
        index.load_index(str(path), max_elements=sealed.count, allow_replace_deleted=False)
        return Shard(index)

    def _rebuild(self, sealed: ShardSealed, source: Source, progress: Progress | None) -> Shard:
        shard = build_shard(source, Builder.parse(sealed.builder), progress=progress)
        self._write(shard, expected=sealed)
        return shard

    def _write(self, shard: Shard, expected: ShardSealed | None = None) -> str:
        """Write the file under its digest: a temporary file, checked, synced, then renamed."""
        if self._directory is None:
            with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
                return _saved(shard, Path(folder) / "shard", expected)
        self._directory.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=".building", dir=self._directory)
        os.close(handle)
        path = Path(name)
        try:
            digest = _saved(shard, path, expected)
            _sync(path)
            path.replace(self._directory / f"{digest}.hnsw")
            _sync(self._directory)
        finally:
            path.unlink(missing_ok=True)
        return digest


def _saved(shard: Shard, path: Path, expected: ShardSealed | None) -> str:
    shard.save(path)
    digest = file_digest(path)
    if expected is not None and digest != expected.digest:
        raise ShardMismatch(expected=expected.digest, actual=digest, builder=expected.builder)
    return digest


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
