"""Open files from other people without ever blocking, and only if they are regular files.

Opening a FIFO waits for a writer and a device may never end, so a path is opened without waiting and its type is
checked on the open descriptor; a check before opening could be outdated.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

SYMBOLIC_LINK = "symbolic link"
NOT_REGULAR = "not a regular file"


class Refused(OSError):
    """A path that will not be read; `strerror` says why."""

    def __init__(self, reason: str, path: str | Path) -> None:
        super().__init__(errno.EINVAL, reason, str(path))


@contextmanager
def opened(path: str | Path, *, follow: bool = False) -> Iterator[BinaryIO]:
    """Open a regular file for reading; OSError says what it is instead. Links are refused unless `follow` is set."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except ValueError:
        raise Refused("not a path", repr(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise Refused(SYMBOLIC_LINK, path) from None
        if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, or a device without a driver
            raise Refused(NOT_REGULAR, path) from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refused(NOT_REGULAR, path)
        yield file


def read_whole(path: str | Path, *, bytes_max: int, follow: bool = False) -> bytes:
    """The bytes of a regular file; OSError if it is not one, or has more than `bytes_max`."""
    with opened(path, follow=follow) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise Refused(f"over {bytes_max:,} bytes", path)
    return data
