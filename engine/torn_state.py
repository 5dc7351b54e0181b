"""A store's one lock, `@locked`, and whether an interruption left its projections torn.

A fold changes many arrays one after the other, and reading sorts and stores what it finds waiting. Ctrl-C, a signal
handler that ends the program or a lack of memory can stop either anywhere: an event is then counted by some
projections and not by others, or would be counted twice. No order of the steps makes that impossible, so leaving
in such a way leaves `torn` behind, and `Store.catch_up` folds new projections before anything is read.

The lock itself stays Python's own, taken by a `with` of its own: an enter or exit that is written in Python (a
`@contextmanager`, too) can be interrupted between taking and holding the lock, which would then be held for ever. So
the lock is put around functions: `@locked` holds it for one whose first argument is the store, or has it as `store`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar


class TornState:
    """A context manager that sets `torn` if an interruption leaves it; the holder of the lock clears it."""

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


class Lockable(Protocol):
    """A store."""

    @property
    def lock(self) -> threading.RLock: ...

    @property
    def torn_state(self) -> TornState: ...


class OfStore(Protocol):
    """An object that works on a store."""

    @property
    def store(self) -> Lockable: ...


S = TypeVar("S", bound=Lockable | OfStore)
P = ParamSpec("P")
T = TypeVar("T")


def locked(work: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Hold the lock of the first argument, or of its store, while the function runs, and note an interruption."""

    @wraps(work)
    def holding(first: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        store: Any = getattr(first, "store", first)
        with store.lock, store.torn_state:
            return work(first, *args, **kwargs)

    return holding
