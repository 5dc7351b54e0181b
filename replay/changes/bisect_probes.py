"""Where a search that cannot ask everywhere asks first: at an even spread, and at the events most likely to move a memory."""

from __future__ import annotations

from collections.abc import Iterable

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
