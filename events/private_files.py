"""Files and directories that only their owner can read, whatever the umask: memories are private.

Existing files keep their permissions; `exposed` reports when others may reach into a directory.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from recollect.events.errors import InvalidInput

_FILE = 0o600
_DIRECTORY = 0o700
_OTHERS = 0o077


def open_private(path: Path, flags: int) -> int:
    """Open a file and return its descriptor; if it is created here, only its owner can read it."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, _FILE)
    if (
        flags & os.O_CREAT and os.fstat(descriptor).st_mode & _FILE != _FILE
    ):  # the umask took the owner's rights
        os.fchmod(descriptor, _FILE)
    return descriptor


def open_regular(path: Path, flags: int) -> int:
    """Open a file as `open_private` does; refuse what is no file: a link, a directory, a pipe, a device."""
    try:
        descriptor = open_private(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.ELOOP, errno.ENXIO):
            raise
    else:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    raise InvalidInput(f"{path} is no regular file, as belongs there; remove it, and it is made anew")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name this file in an error of the system that names none: `write` and `fsync` know descriptors alone."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def write_private(path: Path, data: bytes) -> None:
    """Write this content to a file in place of what it held, and sync it; not its name in the directory."""
    with _written_over(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces this one when the block ends without an error; the block syncs it if it wants to."""
    draft = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with naming(path), open(open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def copy_private(source: IO[bytes], path: Path) -> None:
    """Copy the rest of an open file to a file in place of what it held, piece by piece, and sync it as `write_private`."""
    with _written_over(path) as file:
        shutil.copyfileobj(source, file)


@contextmanager
def _written_over(path: Path) -> Iterator[IO[bytes]]:
    with naming(path), open(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def make_private(path: Path) -> None:
    """Make the directory and its missing parents, durably."""
    if path.is_dir():
        return
    make_private(path.parent)
    path.mkdir(mode=_DIRECTORY, exist_ok=True)
    if path.stat().st_mode & _DIRECTORY != _DIRECTORY:
        path.chmod(_DIRECTORY)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the entries of a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with naming(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exposed(path: Path) -> str | None:
    """What other users may do in a directory, and how to stop that; None if they may do nothing."""
    try:
        mode = path.stat().st_mode & 0o777
    except OSError:
        return None
    if not mode & _OTHERS:
        return None
    return (
        f"others may reach into {path}, whose rights are {mode:04o}; `chmod -R go= {path}` keeps it private"
    )
