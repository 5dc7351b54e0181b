"""Where a search that cannot ask everywhere asks first: at an even spread, and at the events most likely to move a memory.

`bisect` looks for the first time that a memory changes sides. A failed expectation asks the other way round
(`last_break`): it does not hold now, so which event took it away? The last gap in which it stops to hold is searched by
halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from recollect.projections.view import Projections

SAMPLES = 12
PROBES_MAX = 50
TOUCHES_MAX = 10


def bisect_probes(projections: Projections, memory_ids: Iterable[str], since: int, until: int) -> list[int]:
    """Positions spread over [since, until], and those before and at the own events of these memories."""
    spread = np.linspace(since, until, SAMPLES + 2).round().astype(int).tolist()
    memories = [projections.documents.ids.find(memory_id) for memory_id in memory_ids]
    own = [seq for memory in memories if memory >= 0 for seq in _own(projections, memory, since, until)]
    return sorted({*spread, *own, *(seq - 1 for seq in own)})


def last_break(
    projections: Projections, memory_ids: Iterable[str], holds: Callable[[int], bool], *, since: int, until: int
) -> int | None:  # fmt: skip
    """The seq in (since, until] with which `holds` became false for good, given that it is false at `until`.

    None if it holds at none of the positions asked.
    """
    asked = bisect_probes(projections, memory_ids, since, until)
    known = {seq: holds(seq) for seq in asked}
    gap = next(((a, b) for a, b in reversed(list(pairwise(asked))) if known[a] and not known[b]), None)
    return None if gap is None else narrow(lambda seq: known[seq] if seq in known else holds(seq), *gap)


def narrow(holds: Callable[[int], bool], low: int, high: int) -> int:
    """A seq in (low, high] at which something begins or ends to hold, given that it does on the way."""
    side = holds(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) == side else (low, middle)
    return high


def _own(projections: Projections, memory: int, since: int, until: int) -> list[int]:
    """Seqs in (since, until]: what showed, hid or reworded the memory, and some of what else touched it.

    The latter are its uses, ratings, dreams and edges, which are many and move it little. Where there are too many
    of a sort, an even choice of them.
    """
    documents = projections.documents
    versions = documents.versions_of(memory)
    shown_or_hidden = {*documents.born[versions].tolist(), *documents.died[versions].tolist()}
    touched = {*projections.lifecycle.history(memory), *projections.graph.history(memory)} - shown_or_hidden
    turned = _thinned(_within(shown_or_hidden, since, until), PROBES_MAX)
    return [*turned, *_thinned(_within(touched, since, until), TOUCHES_MAX)]


def _within(seqs: set[int], since: int, until: int) -> list[int]:
    return sorted(seq for seq in seqs if since < seq <= until)


def _thinned(seqs: list[int], at_most: int) -> list[int]:
    if len(seqs) <= at_most:
        return seqs
    return [seqs[place] for place in np.linspace(0, len(seqs) - 1, at_most).round().astype(int).tolist()]
