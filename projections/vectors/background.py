"""Threads that call hnswlib, and the end of the program.

A daemon thread that is inside C++ when the interpreter shuts down aborts the whole process. So every thread that
builds, loads or searches a shard is started here: when the program ends, builds are told to stop at their next slice
(`ending`), waiting threads are told to end, and all of them are joined.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

# Longer than any slice or sync takes; a thread that hangs for good must not keep the program from ending.
_WAIT_SECONDS = 30.0

ending = threading.Event()
_running: dict[threading.Thread, Callable[[], None] | None] = {}


def start(work: Callable[[], None], *, name: str, tell: Callable[[], None] | None = None) -> threading.Thread:
    """Run `work` in a thread of its own; `tell` makes it end when the program does."""

    def run() -> None:
        try:
            work()
        finally:
            _running.pop(thread, None)

    thread = threading.Thread(target=run, name=name, daemon=True)
    _running[thread] = tell
    try:
        thread.start()
    except RuntimeError:  # the system gives no more threads
        del _running[thread]
        raise
    return thread


@atexit.register
def _end() -> None:
    ending.set()
    threads = list(_running.items())
    for _, tell in threads:
        if tell is not None:
            tell()
    for thread, _ in threads:
        thread.join(_WAIT_SECONDS)
