"""Shards as files: `<digest>.hnsw`, the digest being the sha256 of the bytes.

Files are a cache. One that is missing or does not match its name is built again from the vectors, and must then have
the digest that the event says.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from pathlib import Path

from recollect.events.errors import RecollectError
from recollect.events.facts import ShardSealed
from recollect.events.private_files import make_private
from recollect.projections.shard_names import Builder
from recollect.projections.shards import Progress, Shard, Source, build_shard


class ShardMismatch(RecollectError):
    """A shard that was built again is not the one that the log speaks of."""

    def __init__(self, *, expected: str, actual: str, builder: str) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"the shard {expected} was built again with {builder} and came out as {actual}; "
            f"put the file {expected}.hnsw back from a copy of the store, or open it where it was sealed"
        )


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
        """Where no file can be written, as in a store that is read-only, the shard is checked and kept in memory."""
        shard = build_shard(source, Builder.parse(sealed.builder), progress=progress)
        try:
            self._write(shard, expected=sealed)
        except OSError:
            _checked(shard, sealed)
        return shard

    def _write(self, shard: Shard, expected: ShardSealed | None = None) -> str:
        """Write the file under its digest: a temporary file, checked, synced, then renamed."""
        if self._directory is None:
            return _checked(shard, expected)
        make_private(self._directory)
        handle, name = tempfile.mkstemp(suffix=".building", dir=self._directory)
        os.fchmod(handle, 0o600)  # whatever the umask
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


def _checked(shard: Shard, expected: ShardSealed | None) -> str:
    """The digest that the shard's file would have."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        return _saved(shard, Path(folder) / "shard", expected)


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
