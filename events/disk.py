"""The file layer: the few operations a log needs, behind one protocol.

Everything the log does to a file goes through a `Disk`, so that the same code runs on the real one and on a
simulated one that loses power (`tests/simulated_disk.py`). What the log assumes of a disk, and nothing more:

- a synced file keeps its bytes and its length; a synced directory keeps its entries;
- unsynced writes may be lost, kept or garbled in any order and in pieces of any size;
- a write changes no byte outside its own range (powersafe overwrite);
- a rename is atomic for readers, and durable once the directory is synced;
- an advisory lock is released by the kernel when its holder dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol
from zlib import crc32

from recollect.events.errors import LogBusy
from recollect.events.private_files import make_private, open_private
from recollect.events.process_forks import renewed_in_children
from recollect.events.regular_files import NOT_REGULAR, Refused, kind_of

_NO_FILE = frozenset({errno.EISDIR, errno.ELOOP, errno.ENODEV, errno.ENOENT, errno.ENXIO})


class Disk(Protocol):
    """Descriptors are ints; offsets are explicit, so a descriptor has no position to lose."""

    def open(self, path: Path, *, write: bool = True, create: bool = False) -> int:
        """Open a regular file without waiting; `Refused` if something else stands there."""
        ...

    def create(self, path: Path) -> int:
        """Create an empty file; FileExistsError if the path exists."""
        ...

    def open_directory(self, path: Path) -> int:
        """A descriptor for `sync`; opened before an operation, so that its late errors are seen."""
        ...

    def close(self, descriptor: int) -> None: ...

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only at the end of the file."""
        ...

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        """Write all of `data`; after an OSError any part of it may have been written."""
        ...

    def size(self, descriptor: int) -> int: ...

    def truncate(self, descriptor: int, size: int) -> None: ...

    def sync(self, descriptor: int) -> None:
        """Make a file's bytes and length, or a directory's entries, survive a power cut."""
        ...

    def rename(self, old: Path, new: Path) -> None: ...

    def remove(self, path: Path) -> None: ...

    def names(self, path: Path) -> list[str]:
        """Names in a directory, sorted; an empty list if it does not exist."""
        ...

    def make_directories(self, path: Path) -> None:
        """Make the directory and its missing parents, durably."""
        ...

    def boot(self) -> int:
        """A number for the machine's current boot, 32 bits; 0 if unknown. The page cache starts empty at each boot."""
        ...

    def size_in_place(self, descriptor: int) -> int | None:
        """The size of an open file if it is still the one at its path, else None."""
        ...

    def try_lock(self, descriptor: int) -> bool:
        """Take the exclusive advisory lock of an open file; False if another process has it."""
        ...

    def unlock(self, descriptor: int) -> None: ...


@contextmanager
def synced_directory(disk: Disk, path: Path) -> Iterator[None]:
    """Entries created, renamed or removed inside the block are durable after it."""
    descriptor = disk.open_directory(path)
    try:
        yield
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def read_whole(disk: Disk, path: Path, *, bytes_max: int | None = None) -> bytes | None:
    """The content of a file; None if there is no such file.

    Of one that is longer than its format can make it only the first `bytes_max` bytes are read.
    """
    try:
        descriptor = disk.open(path, write=False)
    except FileNotFoundError:
        return None
    try:
        size = disk.size(descriptor)
        return disk.read(descriptor, size if bytes_max is None else min(size, bytes_max), 0)
    finally:
        disk.close(descriptor)


def write_new(disk: Disk, path: Path, data: bytes) -> None:
    """A new file with this content, durable but for its directory entry."""
    descriptor = disk.create(path)
    try:
        disk.write(descriptor, data, 0)
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


@cache
def _boot() -> int:
    try:
        return crc32(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    except OSError:
        return 0


class RealDisk:
    """`Disk` on the operating system's own calls; no buffered Python files. What it makes is for its owner alone."""

    def __init__(self) -> None:
        self._opened: dict[int, tuple[str, int, int]] = {}  # path, device and inode

    def open(self, path: Path, *, write: bool = True, create: bool = False) -> int:
        access = os.O_RDWR if write else os.O_RDONLY
        return self._open(path, access | os.O_NONBLOCK | (os.O_CREAT if create else 0))

    def create(self, path: Path) -> int:
        return self._open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def _open(self, path: Path, flags: int) -> int:
        """A regular file; opening anything else fails at once (`Refused`), a link that leads to none as well."""
        try:
            descriptor = open_private(path, flags)
        except OSError as error:
            if error.errno in _NO_FILE and kind_of(path) is not None:
                raise Refused(NOT_REGULAR, path) from None
            raise
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            os.close(descriptor)
            raise Refused(NOT_REGULAR, path)
        self._opened[descriptor] = str(path), state.st_dev, state.st_ino
        return descriptor

    def open_directory(self, path: Path) -> int:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._opened[descriptor] = str(path), 0, 0
        return descriptor

    def close(self, descriptor: int) -> None:
        self._opened.pop(descriptor, None)
        os.close(descriptor)

    def _named(self, error: OSError, descriptor: int) -> OSError:
        """The error with the path of the file: calls on a descriptor name none, and a person is to find it."""
        if error.filename is None:
            error.filename = self._opened[descriptor][0]
        return error

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        try:
            data = os.pread(descriptor, size, offset)
            while len(data) < size and (more := os.pread(descriptor, size - len(data), offset + len(data))):
                data += more
        except OSError as error:
            raise self._named(error, descriptor)  # noqa: B904 (the same error)
        return data

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        try:
            while (written := os.pwrite(descriptor, data, offset)) < len(data):
                data = data[written:]
                offset += written
        except OSError as error:
            raise self._named(error, descriptor)  # noqa: B904

    def size(self, descriptor: int) -> int:
        return os.fstat(descriptor).st_size

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        try:
            if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone stops at the drive's cache
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            else:
                os.fdatasync(descriptor)
        except OSError as error:
            raise self._named(error, descriptor)  # noqa: B904

    def rename(self, old: Path, new: Path) -> None:
        old.replace(new)

    def remove(self, path: Path) -> None:
        path.unlink()

    def names(self, path: Path) -> list[str]:
        try:
            return sorted(entry.name for entry in path.iterdir())
        except FileNotFoundError:
            return []

    def make_directories(self, path: Path) -> None:
        make_private(path)

    def boot(self) -> int:
        return _boot()

    def size_in_place(self, descriptor: int) -> int | None:
        path, device, inode = self._opened.get(descriptor, ("", 0, 0))
        try:
            state = os.stat(path)  # noqa: PTH116 (before every write)
        except FileNotFoundError:
            return None
        return state.st_size if state.st_ino == inode and state.st_dev == device else None

    def try_lock(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


# --- one writer at a time -------------------------------------------------------------------------
#
# A mutex keeps threads apart, `flock` on a separate file keeps processes apart.
#
# The lock file is empty. If it was deleted or replaced, it is opened again. `flock` is used and not `fcntl`, because
# closing any descriptor of a file drops the process's fcntl locks on it. A forked child shares its parent's open file
# and with it the lock, so it closes the file and opens it again. The kernel releases the lock of a process that died,
# so there are no stale locks to break.

_PAUSE_S_MIN = 0.0002
_PAUSE_S_MAX = 0.01


WRITER_LOCK = "writer.lock"  # the file beside the segments that writers lock


class WriterLock:
    """Re-entrant within a thread: the holder may take it again."""

    def __init__(self, disk: Disk, path: Path, *, timeout_s: float) -> None:
        self._disk = disk
        self._path = path
        self._timeout_s = timeout_s
        self._descriptor: int | None = None
        self.renew_locks()
        renewed_in_children(self)

    def renew_locks(self) -> None:
        """Begin without the parent's lock; closing the descriptor that is shared with it unlocks nothing."""
        self._mutex = threading.RLock()
        self._is_held = False
        self.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; `LogBusy` when it cannot be had in time."""
        started_s, mutex = time.monotonic(), self._mutex
        if not mutex.acquire(timeout=self._timeout_s):
            raise self._busy(started_s)
        try:
            if self._is_held:
                yield
                return
            self._acquire(started_s)
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False
                self._disk.unlock(self._open())
        finally:
            mutex.release()

    def is_free(self) -> bool:
        """Whether the lock is free at this moment; not if the disk fails.

        A missing lock file means that the log was never written.
        """
        try:
            descriptor = self._disk.open(self._path, write=False)
            try:
                return self._disk.try_lock(descriptor)
            finally:
                self._disk.close(descriptor)
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        if self._descriptor is not None:
            self._disk.close(self._descriptor)
            self._descriptor = None

    def _acquire(self, started_s: float) -> None:
        """Lock the file that is at the path now: a lock on a deleted file would keep no other process out."""
        while True:
            descriptor = self._open()
            self._wait_for(descriptor, started_s)
            if self._disk.size_in_place(descriptor) is not None:
                return
            self.close()

    def _wait_for(self, descriptor: int, started_s: float) -> None:
        pause_s = _PAUSE_S_MIN
        while not self._disk.try_lock(descriptor):
            if time.monotonic() - started_s > self._timeout_s:
                raise self._busy(started_s)
            time.sleep(pause_s * (0.5 + random.random()))  # noqa: S311
            pause_s = min(2 * pause_s, _PAUSE_S_MAX)

    def _busy(self, started_s: float) -> LogBusy:
        return LogBusy(
            f"another writer{self._whose()} held {self._path} for {time.monotonic() - started_s:.1f} s; "
            f"try again, or find out which process holds it (fuser {self._path})"
        )

    def held_by_another(self) -> str | None:
        """That another process holds the lock at this moment, for people; None if it is free."""
        return None if self.is_free() else f"another process{self._whose()} holds {self._path}"

    def _whose(self) -> str:
        """The process that holds the lock, where the system tells; an empty text elsewhere."""
        with suppress(OSError):
            status = self._path.stat()
            file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
            for line in Path("/proc/locks").read_text("ascii").splitlines():
                fields = line.split()
                if fields[1:2] == ["FLOCK"] and fields[5:6] == [file] and int(fields[4]) > 0:
                    return f" (process {fields[4]})"
        return ""

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = self._disk.open(self._path, create=True)
        return self._descriptor
