"""One writer at a time: among threads by a mutex, among processes by `flock` on a file of its own.

The lock file holds nothing. One that was deleted or replaced is opened again. `flock` and not `fcntl`: closing any other descriptor of
a file drops a process's fcntl locks. A forked child shares its parent's open file and with it the lock, so
the file is opened again when the process id has changed. The kernel releases the lock of a process that
died; there are no stale locks to break.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.events.disk import Disk
from recollect.events.errors import LogBusy

_PAUSE_S_MIN = 0.0002
_PAUSE_S_MAX = 0.01


class WriterLock:
    """Re-entrant within a thread: the holder may take it again."""

    def __init__(self, disk: Disk, path: Path, *, timeout_s: float) -> None:
        self._disk = disk
        self._path = path
        self._timeout_s = timeout_s
        self._descriptor: int | None = None
        self._pid = os.getpid()
        self._mutex = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; `LogBusy` when it cannot be had in time."""
        self._forget_parent()
        started_s = time.monotonic()
        if not self._mutex.acquire(timeout=self._timeout_s):
            raise self._busy(started_s)
        try:
            if self._depth == 0:
                self._acquire(started_s)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._disk.unlock(self._open())
        finally:
            self._mutex.release()

    def nobody_writes(self) -> bool:
        """Whether the lock is free at this moment; a missing lock file means that the log was never written."""
        try:
            descriptor = self._disk.open(self._path, write=False)
        except FileNotFoundError:
            return True
        try:
            return self._disk.try_lock(descriptor)
        finally:
            self._disk.close(descriptor)

    def close(self) -> None:
        self._forget_parent()
        if self._descriptor is not None:
            self._disk.close(self._descriptor)
            self._descriptor = None

    def _acquire(self, started_s: float) -> None:
        """Lock the file that stands there now: one that was deleted meanwhile keeps no other process out."""
        self._wait_for(self._open(), started_s)
        while not self._disk.is_at(self._open(), self._path):
            self._disk.close(self._open())
            self._descriptor = None
            self._wait_for(self._open(), started_s)

    def _wait_for(self, descriptor: int, started_s: float) -> None:
        pause_s = _PAUSE_S_MIN
        while not self._disk.try_lock(descriptor):
            if time.monotonic() - started_s > self._timeout_s:
                raise self._busy(started_s)
            time.sleep(pause_s * (0.5 + random.random()))  # noqa: S311
            pause_s = min(2 * pause_s, _PAUSE_S_MAX)

    def _busy(self, started_s: float) -> LogBusy:
        return LogBusy(
            f"another writer held {self._path} for {time.monotonic() - started_s:.1f} s; "
            f"try again, or find out which process holds it (fuser {self._path})"
        )

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = self._disk.open(self._path, create=True)
        return self._descriptor

    def _forget_parent(self) -> None:
        """In a forked child: a mutex and a descriptor of its own (closing the shared one unlocks nothing)."""
        if os.getpid() == self._pid:
            return
        self._pid = os.getpid()
        self._mutex = threading.RLock()
        self._depth = 0
        if self._descriptor is not None:
            self._disk.close(self._descriptor)
            self._descriptor = None
