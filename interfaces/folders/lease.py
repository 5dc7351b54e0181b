"""One ingester at a time per folder and store, by `flock`: it keeps two watchers from doing the same work.

That nothing is written twice does not depend on it: every batch is conditional on the log it was planned from.
The kernel gives back the lease of a process that died.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.events.errors import RecollectError
from recollect.events.private_files import make_private, open_regular
from recollect.interfaces.folders.folder import Folder

WAIT_S = 60.0
_LOOK_S = 0.05


class FolderBusy(RecollectError):
    """Another watcher has been working on the folder for too long."""


@contextmanager
def lease(
    folder: Folder,
    cache: Path | None,
    *,
    wait_s: float = WAIT_S,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[None]:
    """Hold the folder's lease; a store without a directory needs none."""
    if cache is None or not cache.parent.is_dir():
        yield
        return
    file = folder.file_in(cache, "lock")
    make_private(file.parent)
    descriptor = open_regular(file, os.O_RDWR | os.O_CREAT)
    try:
        _acquire(descriptor, folder, wait_s, sleep)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, folder: Folder, wait_s: float, sleep: Callable[[float], object]) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise FolderBusy(
                    f"another watcher has been at work on {folder.shown} for {wait_s:g} s; wait for it or end it"
                ) from None
            sleep(_LOOK_S)
        else:
            return
