"""Reading files: wait until a file is no longer being written, then read it whole or not at all.

A file has settled when two stamps of it, a moment apart, are the same. One that never settles is taken as it is when
the wait is over. A file that changed while it was read is read again, and left for later if it keeps changing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from recollect.engine.store import Progress
from recollect.events.regular_files import opened
from recollect.interfaces.folders.chunk import Chunk, NoNote, Unreadable
from recollect.interfaces.folders.formats import chunks_of
from recollect.interfaces.folders.scan import FileStamp, stamp_at

_READS = 3


class Stopped(Exception):
    """Asked to stop: what was written so far is whole."""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: between two stamps, the longest wait for a file, and before a missing file counts as deleted."""

    settle_s: float = 0.2
    settle_max_s: float = 10.0
    grace_s: float = 2.0
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic

    def sleep(self, seconds: float) -> None:
        """Wait; raises `Stopped` if that comes first."""
        self.stop.wait(seconds)
        self.check()

    def check(self) -> None:
        """Raise `Stopped` if asked to stop."""
        if self.stop.is_set():
            raise Stopped


class Taken(msgspec.Struct, frozen=True):
    """A file that was read: its chunks, or why it has none."""

    stamp: FileStamp
    document: tuple[Chunk, ...] | None
    reason: str = ""


class Reading(msgspec.Struct):
    taken: dict[str, Taken] = {}
    vanished: set[str] = set()
    unsettled: set[str] = set()
    failed: dict[str, str] = {}


def settle(folder: str, stamps: Mapping[str, FileStamp], timing: Timing) -> dict[str, FileStamp]:
    """The newest stamp of each file once it has settled; without those that are gone."""
    settled: dict[str, FileStamp] = {}
    waiting = dict(stamps)
    deadline = timing.clock() + timing.settle_max_s
    while waiting:
        timing.sleep(timing.settle_s)
        again = {path: stamp for path in waiting if (stamp := stamp_at(folder, path)) is not None}
        over = timing.clock() >= deadline
        settled |= {path: stamp for path, stamp in again.items() if over or stamp == waiting[path]}
        waiting = {path: stamp for path, stamp in again.items() if path not in settled}
    return settled


def read_all(
    folder: str, stamps: Mapping[str, FileStamp], timing: Timing, *, max_bytes: int, progress: Progress | None
) -> Reading:
    """Settle and read these files."""
    settled = settle(folder, stamps, timing)
    reading = Reading(vanished=set(stamps) - set(settled))
    for done, (path, stamp) in enumerate(settled.items(), 1):
        timing.check()
        _read(folder, path, stamp, max_bytes, reading)
        if progress is not None:
            progress(done, len(settled))
    return reading


def _read(folder: str, path: str, stamp: FileStamp, max_bytes: int, reading: Reading) -> None:
    for _ in range(_READS):
        try:
            with opened(Path(folder, path)) as file:
                data = file.read(max_bytes + 1)
        except FileNotFoundError:
            reading.vanished.add(path)
            return
        except OSError as error:
            reading.failed[path] = error.strerror or str(error)
            return
        after = stamp_at(folder, path)
        if after == stamp and len(data) <= max_bytes:
            reading.taken[path] = _taken(path, data, stamp)
            return
        if after is None:
            reading.vanished.add(path)
            return
        stamp = after
    reading.unsettled.add(path)


def _taken(path: str, data: bytes, stamp: FileStamp) -> Taken:
    try:
        return Taken(stamp, chunks_of(path, data))
    except (NoNote, Unreadable) as error:
        return Taken(stamp, None, str(error))
    except RecursionError:
        return Taken(stamp, None, "nested too deeply to be read")
