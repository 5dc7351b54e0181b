"""What knows whether a store's projections may be torn: held inside their lock, as `with store.lock, store.whole`.

A fold changes many arrays one after the other, and reading sorts and stores what it finds waiting. Ctrl-C, a signal
handler that ends the program or a lack of memory can stop either anywhere: an event is then counted by some
projections and not by others, or would be counted twice. No order of the steps makes that impossible, so whoever
leaves in such a way leaves `torn` behind, and `Store.catch_up` folds new projections before anything is read.

The lock itself stays Python's own: one whose enter or exit is written in Python can be interrupted between taking and
holding it, and would then be held for ever.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self


class Wholeness:
    """`torn` is set and cleared by the holder of the lock, and set by an interruption."""

    def __init__(self) -> None:
        self.torn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and tears(kind):
            self.torn = True


def tears(kind: type[BaseException]) -> bool:
    """Whether an error of this kind comes from outside, at any step, and not from the step that raised it."""
    return issubclass(kind, MemoryError) or not issubclass(kind, (Exception, GeneratorExit))


def interrupted() -> bool:
    """Whether this runs on the way out of an interruption, in a `finally` or at the end of a `with`."""
    error = sys.exception()
    return error is not None and tears(type(error))
