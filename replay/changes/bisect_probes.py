"""The events of a memory's own that are most likely to move it: what a search that cannot ask everywhere asks at."""

from __future__ import annotations

import numpy as np

from recollect.projections.view import Projections

PROBES_MAX = 50
TOUCHES_MAX = 10


def bisect_probes(projections: Projections, memory: int, since: int, until: int) -> list[int]:
    """Seqs in (since, until], ascending: what showed, hid or reworded the memory, and some of what else touched it.

    The latter are its uses, ratings, dreams and edges, which are many and move it little. Where there are too many
    of a sort, an even choice of them.
    """
    documents = projections.documents
    versions = documents.versions_of(memory)
    shown_or_hidden = {*documents.born[versions].tolist(), *documents.died[versions].tolist()}
    touched = {*projections.lifecycle.history(memory), *projections.graph.history(memory)} - shown_or_hidden
    turned = _thinned(_within(shown_or_hidden, since, until), PROBES_MAX)
    return sorted([*turned, *_thinned(_within(touched, since, until), TOUCHES_MAX)])


def _within(seqs: set[int], since: int, until: int) -> list[int]:
    return sorted(seq for seq in seqs if since < seq <= until)


def _thinned(seqs: list[int], at_most: int) -> list[int]:
    if len(seqs) <= at_most:
        return seqs
    return [seqs[place] for place in np.linspace(0, len(seqs) - 1, at_most).round().astype(int).tolist()]
