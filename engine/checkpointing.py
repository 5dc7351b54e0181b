"""Checkpoints while a store is open, so that a process that is killed does not leave all of it to be folded again.

Closing a store saves its projections; a server that is killed never closes. So they are saved after bulk writes and,
in programs that stay, by a thread that looks now and then. Saving holds the store's lock and costs with the size of the
store, so it waits for a share of the store to be new, or for many times as long as it took last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from recollect.events.errors import RecollectError

_EVENTS_MIN = 2_000
_EVENTS_AT_ONCE = 20_000
_SHARE_AT_ONCE = 0.25
_PAUSE_S = 60.0
_PAUSE_TIMES_COST = 50.0
_LOOK_S = 15.0


class Checkpointer:
    """Save a checkpoint when it is due; `last_error` holds the last failure until a save succeeds."""

    def __init__(
        self, save: Callable[[], object], position: Callable[[], int], age: Callable[[], int]
    ) -> None:
        self._save = save
        self._position = position
        self._age = age
        self._tried_s = time.monotonic()
        self._cost_s = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.last_error: str | None = None

    def due(self) -> bool:
        age, rested = self._age(), self._rested()
        at_once = max(_EVENTS_AT_ONCE, int(_SHARE_AT_ONCE * self._position()))
        return age >= _EVENTS_MIN and (rested or (age >= at_once and self.last_error is None))

    def _rested(self) -> bool:
        return time.monotonic() - self._tried_s >= max(_PAUSE_S, _PAUSE_TIMES_COST * self._cost_s)

    def save_if_due(self) -> None:
        """Save if it is due. Never raise: a checkpoint is only a cache of the log."""
        if not self.due():
            return
        begun_s = time.monotonic()
        try:
            self._save()
            self.last_error = None
        except (OSError, RecollectError) as error:
            self.last_error = str(error)
        self._tried_s = time.monotonic()
        self._cost_s = self._tried_s - begun_s

    def start(self) -> None:
        """Check in the background whether a save is due, until `stop`."""
        if self._thread is None or not self._thread.is_alive():
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="recollect-checkpoints", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_S):
            self.save_if_due()
