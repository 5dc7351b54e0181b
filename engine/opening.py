"""Opening the log of a store: in memory, in a directory, or at a URL; and the fold of a long one."""

from __future__ import annotations

import gc
import logging
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import NamedTuple

from recollect.engine.built_once import BuiltOnce
from recollect.engine.moments import clock_ahead_max
from recollect.events.disk import WRITER_LOCK, RealDisk, WriterLock
from recollect.events.errors import InvalidInput, LogBusy, LogFailed, LogReadOnly, RecollectError
from recollect.events.log import Clock
from recollect.events.memory_log import MemoryLog
from recollect.events.packs.urls import directory, is_url, open_packs
from recollect.events.private_files import sync_directory
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import TransferableLog

BRANCHES = "branches"
_SYNCING, _SYNCED = "log.syncing", "log.synced"


class Opened(NamedTuple):
    """A log, the folder of its store, whether it can only be read, and what its replicas build for each other."""

    log: TransferableLog
    folder: Path | None = None
    read_only: bool = False
    built: BuiltOnce | None = None


def open_log(path: str | Path, clock: Clock) -> Opened:
    if str(path) == ":memory:":
        return Opened(MemoryLog(clock=clock, ahead_max=clock_ahead_max()))
    if is_url(path):
        packs, folder = open_packs(str(path), clock=clock, ahead_max=clock_ahead_max())
        return Opened(packs, folder, built=BuiltOnce(packs.shared))
    folder = directory(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; a store is a directory")
    finish_swap(folder)
    log, read_only = _opened(folder / "log", clock)
    return Opened(log, folder, read_only)


def _opened(path: Path, clock: Clock) -> tuple[SegmentLog, bool]:
    """The log, and whether it can only be read: a disk that refuses writes is no error, nor is a process that is
    paused while it holds the writer's lock."""
    try:
        return SegmentLog.open(path, clock=clock, ahead_max=clock_ahead_max()), False
    except (LogFailed, LogBusy) as error:
        if not path.is_dir():
            raise
        try:
            log = SegmentLog.open(path, clock=clock, ahead_max=clock_ahead_max(), read_only=True)
        except (RecollectError, OSError):
            raise error from None
        if isinstance(error, LogBusy):
            logging.getLogger("recollect").warning("recollect: opened for reading only: %s", error)
        return log, True


def reopened(folder: Path, clock: Clock, *, patient: bool) -> SegmentLog:
    """The log of a store that was opened for reading, if it can be written to again; `patient` waits for another writer."""
    path = folder / "log"
    held = WriterLock(RealDisk(), path / WRITER_LOCK, timeout_s=0.0).held_by_another()
    if held is not None and not patient:
        raise LogBusy(f"{held}; try again")
    try:
        return SegmentLog.open(path, clock=clock, ahead_max=clock_ahead_max())
    except LogFailed as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno in (ENOSPC, EDQUOT):
            raise LogReadOnly(f"the disk of the store is full: {folder} ({cause}); make room there") from None
        raise LogReadOnly(f"the store is read-only: {folder} ({cause or error})") from None


def new_log(folder: Path) -> Path:
    """Where to write the log that is to take the place of this one, with nothing there; the caller keeps writers out."""
    for name in (_SYNCING, _SYNCED):
        if (folder / name).is_dir():
            shutil.rmtree(folder / name)
    for branch in (folder / BRANCHES).glob("*"):
        with suppress(OSError):  # a log came there: it is not empty
            branch.rmdir()
    return folder / _SYNCING


def swap_log(folder: Path, new: Path, branch: Path) -> None:
    """Put a new log in the place of the old one, which goes to the branch's directory; `finish_swap` ends what is interrupted."""
    staged = folder / _SYNCED
    new.replace(staged)
    sync_directory(folder)
    (folder / "log").replace(branch / "log")
    sync_directory(branch)
    finish_swap(folder)


def finish_swap(folder: Path) -> None:
    """Complete a swap that the end of a process interrupted: give the new log its name, or remove it where the old one
    has not gone yet; the next sync begins again. What another process is swapping is left to it."""
    if (folder / _SYNCED).is_dir() and not (folder / "log").exists():
        with suppress(FileNotFoundError):  # another process was first
            (folder / _SYNCED).replace(folder / "log")
        sync_directory(folder)
    if unfinished_swap(folder):
        lock = WriterLock(RealDisk(), folder / "log" / WRITER_LOCK, timeout_s=0)
        with closing(lock), suppress(RecollectError, OSError), lock.held():
            new_log(folder)


def unfinished_swap(folder: Path) -> list[Path]:
    """The copies of a log that an interrupted swap left, which no erasure reaches; none if it is under way."""
    found = [folder / name for name in (_SYNCING, _SYNCED) if (folder / name).is_dir()]
    free = found and WriterLock(RealDisk(), folder / "log" / WRITER_LOCK, timeout_s=0).is_free()
    return found if free else []


@contextmanager
def writers_kept_out(folder: Path) -> Iterator[None]:
    """Where the lock cannot be taken, on a disk that is read-only, nothing is erased here either."""
    lock = WriterLock(RealDisk(), folder / "log" / WRITER_LOCK, timeout_s=10)
    try:
        with ExitStack() as held:
            with suppress(OSError):
                held.enter_context(lock.held())
            yield
    finally:
        lock.close()


@contextmanager
def no_collection() -> Iterator[None]:
    """Turn the garbage collector off: a long fold makes millions of objects and no cycles."""
    pause = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()
