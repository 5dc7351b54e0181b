"""The lock around a store's projections, which knows whether they may be torn.

A fold changes many arrays one after the other, and reading sorts and stores what it finds waiting. Ctrl-C, a signal
handler that ends the program or a lack of memory can stop either anywhere: an event is then counted by some
projections and not by others, or would be counted twice. No order of the steps makes that impossible, so whoever
leaves the lock in such a way leaves `torn` behind, and `Store.catch_up` folds new projections before anything is read.
The same holds in a forked child: what another thread of the parent was doing there is never finished.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Self

from recollect.events.forks import renewed_in_children


class Wholeness:
    """A re-entrant lock; `torn` is set and cleared by its holder, and set by an interruption."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.torn = False
        renewed_in_children(self)

    def renew_locks(self) -> None:
        self._lock = threading.RLock()
        self.torn = True

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and tears(kind):
            self.torn = True
        self._lock.release()


def tears(kind: type[BaseException]) -> bool:
    """Whether an error of this kind comes from outside, at any step, and not from the step that raised it."""
    return issubclass(kind, MemoryError) or not issubclass(kind, (Exception, GeneratorExit))


def interrupted() -> bool:
    """Whether this runs on the way out of an interruption, in a `finally` or at the end of a `with`."""
    error = sys.exception()
    return error is not None and tears(type(error))
