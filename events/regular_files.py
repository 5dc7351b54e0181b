"""Open files from other people without ever blocking, and only if they are regular files.

Opening a FIFO waits for a writer and a device may never end, so a path is opened without waiting and its type is
checked on the open descriptor; a check before opening could be outdated. A name that stands in its directory is never
taken for no file: a link to what is not there is refused as well. Files of a cache are read the same way, and
what stands in the place of one may be removed whatever it is.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from recollect.events.private_files import naming

SYMBOLIC_LINK = "symbolic link"
NOT_REGULAR = "not a regular file"
LEADS_NOWHERE = "a symbolic link to what is not there"


class Refused(OSError):
    """A path that will not be read; `strerror` says why."""

    def __init__(self, reason: str, path: str | Path) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


@contextmanager
def opened(path: str | Path, *, follow: bool = False) -> Iterator[BufferedReader]:
    """Open a regular file for reading; OSError says what it is instead. Links are refused unless `follow` is set."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except ValueError:
        raise Refused("not a path", repr(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise Refused(SYMBOLIC_LINK, path) from None
        if error.errno == errno.ENOENT and kind_of(Path(path)) is not None:
            raise Refused(LEADS_NOWHERE, path) from None
        if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, or a device without a driver
            raise Refused(NOT_REGULAR, path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused(NOT_REGULAR, path)
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_whole(path: str | Path, *, bytes_max: int, follow: bool = False) -> bytes:
    """The bytes of a regular file; OSError if it is not one, or has more than `bytes_max`."""
    with opened(path, follow=follow) as file, naming(Path(path)):
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise Refused(f"over {bytes_max:,} bytes", path)
    return data


def is_of_the_system(error: OSError) -> bool:
    """Whether an error says nothing about the file: too many are open, there is no memory, or the disk fails."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)


def kind_of(path: Path) -> str | None:
    """What stands at a path instead of a regular file: "a directory"; None for a file, and where nothing is."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a FIFO" if stat.S_ISFIFO(mode) else "a device or a socket"


def remove(path: Path) -> None:
    """Remove what is there, if anything: a file, a link but not what it leads to, or a directory with all that is in it."""
    if kind_of(path) == "a directory":
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_room(path: Path) -> None:
    """Remove a directory that stands where a file of a cache is to be put; anything else is replaced by a rename."""
    if kind_of(path) == "a directory":
        shutil.rmtree(path)
