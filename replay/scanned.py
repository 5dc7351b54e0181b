"""Vectors for one question asked at many moments: each exact scan and each walk through a shard is made once.

A dot product on the grid is exact, so it is the same number whichever moment asks for it, and a walk depends on
nothing but the question, the shard and the width: only which rows are alive and which shards are in use differs.
What is found is what `Vectors` finds, bit for bit.
"""

from __future__ import annotations

from recollect.events.grid import GridArray
from recollect.projections.lexical import Admit
from recollect.projections.nearest import Search, Walks
from recollect.projections.space import Float32Array, Space
from recollect.projections.vectors import Vectors

_WORTHWHILE_SHARE = 8


class ScannedVectors(Vectors):
    """The same vectors; what was computed for a question's vector is kept, per embedder."""

    def __init__(self, base: Vectors) -> None:
        vars(self).update(vars(base))
        self._scans: dict[tuple[int, int, bytes], _ScannedSpace] = {}
        self._walks: dict[bytes, Walks] = {}

    def _begin(
        self, query: GridArray, at: int, top: int, admit: Admit | None, walks: Walks | None = None
    ) -> Search | None:
        self._embeddings.flush()
        number = self._embeddings.number_at(at)
        space = self._embeddings.space(number)
        if len(space) == 0 or top <= 0:
            return None
        asked = query.tobytes()
        key = (number, len(space), asked)
        if key not in self._scans:
            self._scans[key] = _ScannedSpace(space)
        shared = self._walks.setdefault(asked, Walks()) if walks is None else walks
        return Search(self._scans[key], self._documents, query, at=at, top=top, admit=admit, walks=shared)


class _ScannedSpace(Space):
    def __init__(self, base: Space) -> None:
        vars(self).update(vars(base))
        self._base = base
        self._products: Float32Array | None = None

    def scan(self, query: Float32Array, first: int, end: int) -> Float32Array:
        """A part of the scan over all; a short range, as behind sealed shards, is not worth that."""
        if self._products is None:
            if (end - first) * _WORTHWHILE_SHARE < len(self):
                return self._base.scan(query, first, end)
            self._products = self._base.scan(query, 0, len(self))
        return self._products[first:end]
