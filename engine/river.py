"""The log over time: how many events of each lane fell into each of many equal spans.

Times and lanes of all events are kept as two arrays that grow with the log, so that a hundred thousand events are read
once and counted in milliseconds.
"""

from __future__ import annotations

import threading
from array import array
from functools import cache

import msgspec
import numpy as np

from recollect.engine import validate
from recollect.engine.moments import iso, parse_time
from recollect.engine.store import Store
from recollect.events.frame import decode_meta

LANES = ("memories", "recalls", "dreams", "erasures", "formulas")
BUCKETS_MAX = 2_000
_OTHER = -1


class River(msgspec.Struct, frozen=True, kw_only=True):
    """`lanes` counts the events of each span; `upto` is the seq of the last event at the end of each, `before` that of the last one
    before them.

    `first` and `last` are when the log's own first and last event were recorded, `since` and `until` what is shown.
    """

    head: int
    first: str | None
    last: str | None
    since: str | None
    until: str | None
    lanes: dict[str, tuple[int, ...]]
    before: int = 0
    upto: tuple[int, ...]


class LogTimes:
    """When each event was recorded, and its lane; follows the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at = np.empty(0, np.int64)
        self._lane = np.empty(0, np.int8)

    def follow(self, store: Store) -> tuple[np.ndarray, np.ndarray]:
        with self._lock:
            at, lane = array("q"), array("b")
            for frame in store.log.frames(len(self._at), store.catch_up()):
                at.append(frame.header.at)
                lane.append(lane_of(decode_meta(frame.meta)[0]))
            if at:
                self._at, self._lane = np.append(self._at, at), np.append(self._lane, lane)
            return self._at, self._lane


@cache
def lane_of(type_: str) -> int:
    """The lane of an event's type; what is in none of them (seals, accesses, ratings) is counted in `upto` alone."""
    subject, _, what = type_.partition(".")
    if type_ == "memory.erased":
        return LANES.index("erasures")
    if type_ in ("memory.accessed", "memory.rated", "memory.reembedded"):
        return _OTHER
    found = {"memory": "memories", "recall": "recalls", "dream": "dreams", "formula": "formulas"}.get(subject)
    return LANES.index(found) if found and what else _OTHER


def river(
    store: Store, times: LogTimes, *, since: str | None = None, until: str | None = None, buckets: int = 300
) -> River:
    """The log between two moments, all of it unless told otherwise."""
    validate.whole(buckets, "buckets", low=1, high=BUCKETS_MAX)
    at, lane = times.follow(store)
    if not len(at):
        empty = dict.fromkeys(LANES, (0,) * buckets)
        return River(head=0, first=None, last=None, since=None, until=None, lanes=empty, upto=(0,) * buckets)
    low = int(at[0]) if since is None else parse_time(since, now=store.clock(), what="since")
    high = int(at.max()) if until is None else parse_time(until, now=store.clock(), what="until")
    edges = np.linspace(low, max(high, low + 1) + 1, buckets + 1)
    counts = {
        name: tuple(np.histogram(at[lane == number], edges)[0].tolist()) for number, name in enumerate(LANES)
    }
    times_so_far = np.maximum.accumulate(at)
    return River(
        head=len(at),
        first=iso(int(at[0])),
        last=iso(int(at[-1])),
        since=iso(low),
        until=iso(high),
        lanes=counts,
        before=int(np.searchsorted(times_so_far, edges[0], side="left")),
        upto=tuple(np.searchsorted(times_so_far, edges[1:], side="left").tolist()),
    )
