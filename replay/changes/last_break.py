"""last_break: the event after which something stopped to hold for the last time.

`bisect` looks for the first time that a memory changes sides. A failed expectation asks the other way round: it does
not hold now, so which event took it away? It is asked at positions spread over the range and before and after the
memories' own events; the last gap in which it stops to hold is searched by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from recollect.projections.view import Projections
from recollect.replay.changes.bisect_probes import bisect_probes


def last_break(
    projections: Projections, memory_ids: Iterable[str], holds: Callable[[int], bool], *, since: int, until: int
) -> int | None:  # fmt: skip
    """The seq in (since, until] with which `holds` became false for good, given that it is false at `until`.

    None if it holds at none of the positions asked.
    """
    asked = bisect_probes(projections, memory_ids, since, until)
    known = {seq: holds(seq) for seq in asked}
    gap = next(((a, b) for a, b in reversed(list(pairwise(asked))) if known[a] and not known[b]), None)
    if gap is None:
        return None
    low, high = gap
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
