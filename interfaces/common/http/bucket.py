"""Token buckets: how many requests a client may make, evened out over time.

A bucket holds at most `capacity` tokens and gains `capacity / 60` of them per second; a request takes one. So in any
stretch of t seconds a client gets at most capacity + t · capacity / 60 requests through. Clients are kept in the order
in which they were last let through; beyond 4,096 the first is forgotten, whose bucket has had the longest to fill up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_SECONDS = 60.0
_CLIENTS_MAX = 4_096


class Buckets:
    """One bucket per client address."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        assert per_minute > 0
        self._capacity = float(per_minute)
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}

    def wait_s(self, client: str) -> int:
        """Take a token and return 0, or return the whole seconds until there is one."""
        now = self._clock()
        level = self._level(client, now)
        if level < 1.0:
            return max(1, math.ceil((1.0 - level) * _SECONDS / self._capacity))
        self._levels.pop(client, None)
        if len(self._levels) >= _CLIENTS_MAX:
            del self._levels[next(iter(self._levels))]
        self._levels[client] = (level - 1.0, now)
        return 0

    def _level(self, client: str, now: float) -> float:
        level, then = self._levels.get(client, (self._capacity, now))
        return min(self._capacity, level + (now - then) * self._capacity / _SECONDS)
