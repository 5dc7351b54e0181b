"""Vectors for one question asked at many moments: each exact scan and each walk through a shard is made once.

A dot product on the grid is exact, so it is the same number whichever moment asks for it, and a walk depends on
nothing but the question, the shard and the width: only which rows are alive and which shards are in use differs.
What is found is what `Vectors` finds, bit for bit.
"""

from __future__ import annotations

from recollect.events.grid import GridArray
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.nearest import Walks


class SharedVectors(Vectors):
    """The same vectors; searches with one question's vector share what was computed for it."""

    def __init__(self, base: Vectors) -> None:
        vars(self).update(vars(base))
        self._walks: dict[bytes, Walks] = {}

    def _walks_for(self, query: GridArray) -> Walks:
        return self._walks.setdefault(query.tobytes(), Walks())
