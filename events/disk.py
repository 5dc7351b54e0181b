"""The file layer: the few operations a log needs, behind one protocol.

Everything the log does to a file goes through a `Disk`, so that the same code runs on the real one and on a
simulated one that loses power (`simulated_disk`). What the log assumes of a disk, and nothing more:

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
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol
from zlib import crc32

from recollect.events.private_files import make_private, open_private


class Disk(Protocol):
    """Descriptors are ints; offsets are explicit, so a descriptor has no position to lose."""

    def open(self, path: Path, *, write: bool = True, create: bool = False) -> int: ...

    def create(self, path: Path) -> int:
        """A new empty file; FileExistsError if there is one."""
        ...

    def open_directory(self, path: Path) -> int:
        """A descriptor for `sync`; opened before an operation, so that its late errors are seen."""
        ...

    def close(self, descriptor: int) -> None: ...

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        """`size` bytes from `offset`; fewer only at the end of the file."""
        ...

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        """All of `data`, or an OSError with any part of it written."""
        ...

    def size(self, descriptor: int) -> int: ...

    def truncate(self, descriptor: int, size: int) -> None: ...

    def sync(self, descriptor: int) -> None:
        """Make a file's bytes and length, or a directory's entries, survive a power cut."""
        ...

    def rename(self, old: Path, new: Path) -> None: ...

    def remove(self, path: Path) -> None: ...

    def names(self, path: Path) -> list[str]:
        """Names in a directory, sorted; none if it does not exist."""
        ...

    def make_directories(self, path: Path) -> None:
        """The directory and its missing parents, durably."""
        ...

    def boot(self) -> int:
        """Which start of the machine this is, 32 bits; 0 if that is not known. What is cached is not older."""
        ...

    def is_at(self, descriptor: int, path: Path) -> bool:
        """Whether this open file is the one that stands at the path now."""
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


def read_whole(disk: Disk, path: Path) -> bytes | None:
    """The content of a small file; None if there is no such file."""
    try:
        descriptor = disk.open(path, write=False)
    except FileNotFoundError:
        return None
    try:
        return disk.read(descriptor, disk.size(descriptor), 0)
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

    def open(self, path: Path, *, write: bool = True, create: bool = False) -> int:
        """A regular file; opening anything else fails at once."""
        access = os.O_RDWR if write else os.O_RDONLY
        descriptor = open_private(path, access | os.O_NONBLOCK | (os.O_CREAT if create else 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "this is not a regular file", str(path))
        return descriptor

    def create(self, path: Path) -> int:
        return open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def open_directory(self, path: Path) -> int:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        data = os.pread(descriptor, size, offset)
        if len(data) == size or not data:
            return data
        pieces = [data]
        missing = size - len(data)
        while missing and (data := os.pread(descriptor, missing, offset + size - missing)):
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        written = os.pwrite(descriptor, data, offset)
        rest = memoryview(data)[written:]
        while rest:
            written = os.pwrite(descriptor, rest, offset + len(data) - len(rest))
            rest = rest[written:]

    def size(self, descriptor: int) -> int:
        return os.fstat(descriptor).st_size

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone stops at the drive's cache
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

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
        if path.is_dir():
            return
        self.make_directories(path.parent)
        with synced_directory(self, path.parent):
            make_private(path)

    def boot(self) -> int:
        return _boot()

    def is_at(self, descriptor: int, path: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), path.stat())
        except FileNotFoundError:
            return False

    def try_lock(self, descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
