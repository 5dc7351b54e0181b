"""What a vector search must find, without shards and without floating point."""

from __future__ import annotations

import numpy as np

from recollect.events.grid import GridArray
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.nearest import NO_HITS, TAIL, Admit, Part, VectorHits


def exact(vectors: Vectors, query: GridArray, *, at: int, top: int, admit: Admit | None = None) -> VectorHits:
    """The `top` nearest of all visible rows, in integer arithmetic: 32 bits hold partial sums of at most 2**24."""
    search = vectors._begin(query, at, top, admit)
    if search is None:
        return NO_HITS
    space, whole = search._space, query.astype(np.int32)
    dots = space.matrix()[: search.end].astype(np.int32) @ whole
    seen = search.visible(space.rows.array[: search.end])
    return search.merge([Part(np.flatnonzero(seen), dots[seen].astype(np.int64), TAIL)])
