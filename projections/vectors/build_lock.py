"""One builder per shard: a lock file beside the shards, for the time of a build.

    <block's key>.lock    locked (flock) by the process that builds, deleted when it is done

The system unlocks the file of a process that dies. If no file can be made or locked (in a read-only store), or if a
stopped builder holds the lock for too long, each process builds without it.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recollect.events.private_files import make_private
from recollect.projections.vectors import background

_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 120.0


@contextmanager
def build_lock(
    directory: Path | None, key: str, *, wait: bool, stop: threading.Event | None = None
) -> Iterator[bool]:
    """Keep other processes and threads from building the same shard; False if one is building and `wait` is false."""
    path = None if directory is None else directory / f"{key}.lock"
    try:
        descriptor = None if path is None else _locked(path, wait=wait, stop=stop)
    except BlockingIOError:
        yield False
        return
    except OSError:
        path = descriptor = None
    try:
        yield True
    finally:
        if path is not None and descriptor is not None:
            _unlock(path, descriptor)


def _unlock(path: Path, descriptor: int) -> None:
    """Unlock and close, even if interrupted: a descriptor that is left open keeps all others waiting."""
    try:
        with suppress(OSError):
            path.unlink()  # before it is unlocked: who waits for it sees that it is gone, and makes another
    finally:
        os.close(descriptor)


def _locked(path: Path, *, wait: bool, stop: threading.Event | None) -> int:
    """A descriptor of the file, locked; BlockingIOError if another has it and this call does not wait (any more).

    TimeoutError (an OSError) if another has it for longer than any build takes: it was stopped, or it is lost.
    """
    make_private(path.parent)
    began_s = time.monotonic()
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            if not wait or _stopped(stop) or background.ending.is_set():
                raise
            if time.monotonic() - began_s > _PATIENCE_SECONDS:
                raise TimeoutError(f"{path} was locked for {_PATIENCE_SECONDS:g} s") from None
        except BaseException:
            os.close(descriptor)
            raise
        else:
            os.close(descriptor)


def _stopped(stop: threading.Event | None) -> bool:
    """Wait a little; True if the caller asked to stop."""
    if stop is not None:
        return stop.wait(_POLL_SECONDS)
    time.sleep(_POLL_SECONDS)
    return False
