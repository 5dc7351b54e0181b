"""Shards as files: `<digest>.hnsw`, the digest being the sha256 of the bytes.

Files are a cache. One that is missing or does not match its name is built again from the vectors, and must then have
the digest that the event says. A new one gets its name only after it was written, synced, read back whole and
searched. A shard that cannot be loaded or built raises `ShardUnavailable`; its rows are then scanned instead.

Where hnswlib draws levels with another generator than the shard was built with (`level_generator`), it cannot be built
again; a file that is there is searched all the same, if GNU's library built it (`graph_walk`). Of several processes
that miss the same file one builds it, and the others wait for that (`build_lock`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from recollect.events.errors import RecollectError
from recollect.events.facts import ShardSealed
from recollect.events.private_files import make_private
from recollect.events.regular_files import Refused, make_room, opened, remove
from recollect.projections.vectors import level_generator
from recollect.projections.vectors.build_lock import build_lock
from recollect.projections.vectors.shard_names import LIBSTDCXX, Builder, UnknownBuilder
from recollect.projections.vectors.shards import (
    BuildStopped,
    Progress,
    Shard,
    ShardRows,
    build_shard,
    flaw,
    load_shard,
)

Found = TypeVar("Found")

# After this long a shard that failed to load because of the disk or memory is tried again.
_RETRY_SECONDS = 60.0
# How often a new shard is written: erasures of other processes delete unfinished files.
_WRITES = 5
# Levels that every row of an index would have to have for its file to be as long as the longest that is read.
_LEVELS = 16


class ShardUnavailable(RecollectError):
    """A shard that the log names can be neither loaded nor built; its rows can be scanned instead.

    `proven` means that the log adopted a file with the right digest that is not an index of its rows.
    """

    def __init__(self, digest: str, reason: str, *, proven: bool = False) -> None:
        self.digest = digest
        self.reason = reason
        self.proven = proven
        super().__init__(f"the shard {digest} cannot be used: {reason}; see `recollect doctor`")


class ShardMismatch(ShardUnavailable):
    """A shard that was built again is not the one that the log names."""

    def __init__(self, *, expected: str, actual: str, builder: str) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(expected, f"built again with {builder} it came out as {actual}")


class ShardElsewhere(ShardUnavailable):
    """A shard that works only on the machine that built it: missing or unusable here, and it cannot be built here."""


def builder_of(sealed: ShardSealed) -> Builder:
    """How the shard of this event was built; ShardUnavailable if a newer version did it in a way unknown here."""
    try:
        return Builder.parse(sealed.builder)
    except UnknownBuilder as error:
        raise ShardElsewhere(sealed.digest, str(error)) from None


def buildable(sealed: ShardSealed) -> bool:
    """Whether this machine draws the levels that the shard of this event has."""
    return builder_of(sealed).generator == level_generator.generator_here()


def around(ask: Callable[[tuple[str, ...]], Found]) -> tuple[Found, tuple[str, ...]]:
    """The result of `ask` without the unavailable shards, and the digests of these shards."""
    without: tuple[str, ...] = ()
    while True:
        try:
            return ask(without), without
        except ShardUnavailable as error:
            if error.digest in without:
                raise
            without = tuple(sorted((*without, error.digest)))


class SharedShards(Protocol):
    """The place through which machines share the shard files that they built."""

    def fetch(self, digest: str, into: Path) -> bool: ...

    def give(self, digest: str, path: Path) -> None: ...


class ShardCache:
    """Loaded shards by digest, in front of the files. Pinned ones stay; of the others the last few used.

    Without a directory shards live in memory alone. `shared` is asked for a file before it is built again.
    """

    shared: SharedShards | None = None

    def __init__(self, directory: Path | None, *, room: int = 4) -> None:
        self._directory = directory
        self._room = room
        self._loaded: OrderedDict[str, Shard] = OrderedDict()
        self._pinned: frozenset[str] = frozenset()
        self._unwritten: set[str] = set()
        self._failed: dict[str, tuple[ShardUnavailable, float]] = {}
        self._lock = threading.RLock()

    def get(
        self,
        sealed: ShardSealed,
        source: Callable[[], ShardRows],
        stop: threading.Event | None = None,
    ) -> Shard:
        """The shard of this event: loaded, read from its file, or built again from `source`.

        Raises ShardUnavailable; what failed is not tried again at every question.
        """
        with self._lock:
            shard = self._loaded.get(sealed.digest)
            if shard is None:
                self._refuse_if_failed(sealed.digest)
                shard = self._obtained(sealed, source, stop)
            self._keep(sealed.digest, shard)
            return shard

    def require_builder(self, sealed: ShardSealed) -> None:
        """Raise ShardUnavailable if this version does not know how the shard is to be searched."""
        try:
            builder_of(sealed)
        except ShardElsewhere as error:
            self._failed[sealed.digest] = error, float("inf")
            raise

    def _refuse_if_failed(self, digest: str) -> None:
        failed, until = self._failed.get(digest, (None, 0.0))
        if failed is not None and time.monotonic() < until:
            raise ShardUnavailable(digest, failed.reason, proven=failed.proven)

    def _obtained(
        self, sealed: ShardSealed, source: Callable[[], ShardRows], stop: threading.Event | None
    ) -> Shard:
        failed: ShardUnavailable
        until = float("inf")
        try:
            return self._read(sealed, source) or self._rebuild(sealed, source(), stop)
        except BuildStopped:
            raise
        except ShardElsewhere as error:
            failed, until = error, time.monotonic() + _RETRY_SECONDS  # the file may come back
        except ShardUnavailable as error:
            failed = error
        except (OSError, RuntimeError, MemoryError) as error:
            failed = ShardUnavailable(sealed.digest, str(error) or type(error).__name__)
            until = time.monotonic() + _RETRY_SECONDS
        self._failed[sealed.digest] = failed, until
        raise failed

    def examine(
        self, sealed: ShardSealed, source: ShardRows, progress: Progress | None = None
    ) -> ShardUnavailable | None:
        """What is wrong with a shard, after comparing its whole content; a shard without a file is built and not kept.

        Raises OSError, RuntimeError or MemoryError if that cannot be decided.
        """
        try:
            shard = self._read(sealed, lambda: source)
            if shard is None:
                _checked(_built(sealed, source, progress=progress), sealed)
                return None
            wrong = shard.unlike(source, whole=True)
        except ShardUnavailable as error:
            return error
        return None if wrong is None else _bad_file(sealed.digest, wrong)

    def why_not(self, digest: str) -> ShardUnavailable | None:
        """Why this shard was unavailable when it was last needed."""
        failed, _ = self._failed.get(digest, (None, 0.0))
        return failed

    def add(self, shard: Shard) -> str:
        """Write a new shard's file and keep it loaded; returns its digest."""
        for _ in range(_WRITES - 1):
            with suppress(FileNotFoundError):  # an erasure deleted the unfinished file
                digest = self._write(shard)
                break
        else:
            digest = self._write(shard)
        with self._lock:
            self._keep(digest, shard)
        return digest

    def pin(self, digests: Iterable[str]) -> None:
        """Keep these shards loaded once they are; unpin all others."""
        with self._lock:
            self._pinned = frozenset(digests)
            self._shrink()

    def keep_only(self, digests: Container[str]) -> list[str]:
        """Unload all other shards and delete their files and unfinished ones; the names of the files."""
        with self._lock:
            for digest in [digest for digest in self._loaded if digest not in digests]:
                del self._loaded[digest]
            self._failed = {digest: one for digest, one in self._failed.items() if digest in digests}
            if self._directory is None or not self._directory.exists():
                return []
            gone = [path for path in sorted(self._directory.glob("*.hnsw")) if path.stem not in digests]
            gone += sorted(self._directory.glob("*.building"))
            for path in gone:
                remove(path)
            return [path.name for path in gone]

    def _keep(self, digest: str, shard: Shard) -> None:
        self._loaded[digest] = shard
        self._loaded.move_to_end(digest)
        self._shrink()

    def _shrink(self) -> None:
        kept = self._pinned | self._unwritten  # a shard without a file would have to be built again
        free = [digest for digest in self._loaded if digest not in kept]
        for digest in free[: max(0, len(free) - self._room)]:
            del self._loaded[digest]

    def _read(self, sealed: ShardSealed, source: Callable[[], ShardRows]) -> Shard | None:
        """The shard in its file; None if there is no file with this digest."""
        if sealed.count == 0:
            return Shard(None)
        if not self._named(sealed.digest):
            return None
        block = source()
        path = self.file_of(sealed.digest, bytes_max=longest(sealed, block.dimensions))
        if path is None:
            return None
        foreign = not buildable(sealed)
        if foreign and builder_of(sealed).generator != LIBSTDCXX:
            raise _elsewhere(sealed, "its file can only be searched where it was built")
        try:
            shard = load_shard(path, dimensions=block.dimensions, count=sealed.count, foreign=foreign)
        except (RuntimeError, MemoryError):
            wrong = flaw(path, sealed.count)
            if wrong is None:
                raise  # the file is whole: something else went wrong
        else:
            wrong = shard.unlike(block)
            if wrong is None:
                return shard
        if not has_digest(path, sealed.digest):  # deleted meanwhile, or written by another process
            return None
        raise _bad_file(sealed.digest, wrong)

    def _rebuild(self, sealed: ShardSealed, source: ShardRows, stop: threading.Event | None) -> Shard:
        """Build the shard again; if no file can be written (a read-only store), check it and keep it in memory."""
        with self.building(sealed.digest, wait=True, stop=stop) as alone:
            if not alone:
                raise BuildStopped(f"stopped while another process builds the shard {sealed.digest}")
            shard = self._read(sealed, lambda: source)  # another process may have built it meanwhile
            if shard is None and self._fetched(sealed.digest):
                shard = self._read(sealed, lambda: source)
            if shard is not None:
                return shard
            shard = _built(sealed, source, stop=stop)
            try:
                self._write(shard, expected=sealed)
            except OSError:
                _checked(shard, sealed)
            if not self.has(sealed.digest):
                self._unwritten.add(sealed.digest)
            self.give(sealed.digest)
            return shard

    def building(
        self, key: str, *, wait: bool, stop: threading.Event | None = None
    ) -> AbstractContextManager[bool]:
        """Keep other processes from building the same shard, as `build_lock` says."""
        return build_lock(self._directory, key, wait=wait, stop=stop)

    # --- files from elsewhere ------------------------------------------------------------------------

    def file_of(self, digest: str, *, bytes_max: int | None = None) -> Path | None:
        """The file of this shard, if it is there and whole, and no longer than any index of its rows could be."""
        path = None if self._directory is None else self._directory / f"{digest}.hnsw"
        return path if path is not None and has_digest(path, digest, bytes_max=bytes_max) else None

    def has(self, digest: str) -> bool:
        """Whether the shard is loaded, or there is a file of its name."""
        with self._lock:
            return self._named(digest) or digest in self._loaded

    def _named(self, digest: str) -> bool:
        return self._directory is not None and (self._directory / f"{digest}.hnsw").is_file()

    def take(self, file: Path) -> bool:
        """Copy in a shard's file from elsewhere; False if it is there already or does not match its digest."""
        if self._directory is None or self.file_of(file.stem) is not None:
            return False
        if not has_digest(file, file.stem, follow=True):
            return False
        with self._unfinished() as path:
            shutil.copyfile(file, path)
            _sync(path)
            if not has_digest(path, file.stem):
                return False
            self._name(path, file.stem)
        with self._lock:
            self._failed.pop(file.stem, None)
        return True

    def _fetched(self, digest: str) -> bool:
        """Fetch the file that another machine shared; False if it is missing or does not match its digest."""
        if self.shared is None or self._directory is None:
            return False
        with self._unfinished() as path:
            if not self.shared.fetch(digest, path) or not has_digest(path, digest):
                return False
            _sync(path)
            self._name(path, digest)
        return True

    def give(self, digest: str) -> None:
        """Share the file of this shard, if there is one, with other machines."""
        path = None if self.shared is None else self.file_of(digest)
        if self.shared is not None and path is not None:
            self.shared.give(digest, path)

    def _write(self, shard: Shard, expected: ShardSealed | None = None) -> str:
        """Write the file under its digest: a temporary file, synced, proven, then renamed."""
        if self._directory is None:
            return _checked(shard, expected)
        with self._unfinished() as path:
            digest = _saved(shard, path, expected)
            self._name(path, digest)
        return digest

    def _name(self, path: Path, digest: str) -> None:
        """Give a file that was proven and synced its name."""
        assert self._directory is not None
        place = self._directory / f"{digest}.hnsw"
        make_room(place)
        path.replace(place)
        _sync(self._directory)

    @contextmanager
    def _unfinished(self) -> Iterator[Path]:
        """An empty file in the directory, deleted at the end unless it was renamed."""
        assert self._directory is not None
        make_private(self._directory)
        handle, name = tempfile.mkstemp(suffix=".building", dir=self._directory)
        os.fchmod(handle, 0o600)  # whatever the umask
        os.close(handle)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)


def _built(
    sealed: ShardSealed,
    source: ShardRows,
    *,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Shard:
    if not buildable(sealed):
        raise _elsewhere(sealed, "its file is not here and it cannot be built here")
    return build_shard(source, builder_of(sealed), progress=progress, stop=stop)


def _elsewhere(sealed: ShardSealed, what: str) -> ShardElsewhere:
    drawn, here = builder_of(sealed).generator, level_generator.generator_here()
    return ShardElsewhere(
        sealed.digest,
        f"{what}: its levels are those of {drawn}, and hnswlib draws those of {here} on this machine",
    )


def _bad_file(digest: str, wrong: str) -> ShardUnavailable:
    return ShardUnavailable(digest, f"the file that the log adopted is bad: {wrong}", proven=True)


def _checked(shard: Shard, expected: ShardSealed | None) -> str:
    """The digest that the shard's file would have."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        return _saved(shard, Path(folder) / "shard", expected)


def _saved(shard: Shard, path: Path, expected: ShardSealed | None) -> str:
    """Save the shard, sync it and read it back: the digest of bytes that are a whole index and answer as it does."""
    shard.save(path)
    _sync(path)
    digest = file_digest(path)
    wrong = flaw(path, shard.count)
    if wrong is None and expected is not None:
        if digest != expected.digest:
            raise ShardMismatch(expected=expected.digest, actual=digest, builder=expected.builder)
        return digest
    if wrong is None:
        wrong = _unlike_when_loaded(shard, path)
    if wrong is not None:
        raise OSError(
            f"an index was not written completely ({wrong}); is the disk full? nothing was published"
        )
    return digest


def _unlike_when_loaded(shard: Shard, path: Path) -> str | None:
    try:
        again = load_shard(path, dimensions=shard.dimensions, count=shard.count)
    except RuntimeError as error:
        return str(error)
    return None if shard.answers_as(again) else "read back, it does not answer as it was built"


def longest(sealed: ShardSealed, dimensions: int) -> int:
    """More bytes than an index of these rows has: vectors, links of the base level, and of far more upper levels."""
    links = builder_of(sealed).M
    return 2**20 + sealed.count * (4 * dimensions + 64 + 4 * 2 * links + 4 * (links + 1) * _LEVELS)


def has_digest(path: Path, digest: str, *, bytes_max: int | None = None, follow: bool = False) -> bool:
    """Whether this is a regular file, or with `follow` leads to one, of these bytes; one over `bytes_max` is not read."""
    try:
        return file_digest(path, bytes_max=bytes_max, follow=follow) == digest
    except OSError:  # cannot be read: as good as missing
        return False


def file_digest(path: Path, *, bytes_max: int | None = None, follow: bool = False) -> str:
    """The digest of a regular file; OSError if it is anything else."""
    with opened(path, follow=follow) as file:
        if bytes_max is not None and os.fstat(file.fileno()).st_size > bytes_max:
            raise Refused(f"over {bytes_max:,} bytes", path)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
