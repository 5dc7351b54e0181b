"""One search for the nearest vectors: exact over ranges of slots, through shards, and merged into one order.

However a row is found, its dot product is exact. What is found depends only on the question, on what is visible and on
the shards in use: how wide a shard is searched is counted, never timed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recollect.events import grid
from recollect.events.errors import InvalidInput
from recollect.events.facts import ShardSealed
from recollect.events.grid import GridArray
from recollect.projections.columns import NEVER, BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.documents import Documents
from recollect.projections.portable_math import round12_array
from recollect.projections.vectors.embeddings import Float32Array, Space
from recollect.projections.vectors.shard_names import Builder
from recollect.projections.vectors.shards import Nearest, Shard

Admit = Callable[[Int32Array], BoolArray]

TAIL = "tail"
# Cosines that may become equal when they are rounded to 12 digits are closer than this.
_ROUNDING = 1e-11


class VectorHits(NamedTuple):
    """Rows by (-cosine, memory id); `sources` says where each was found: "tail", or a shard's digest."""

    rows: Int32Array
    dots: IntArray
    cosines: FloatArray
    sources: list[str]


NO_HITS = VectorHits(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.float64), [])


class Sealed(NamedTuple):
    """A shard: the seqs [seq, retired) at which it is used, its embedder's number, the slots [first, end) it covers."""

    seq: int
    fact: ShardSealed
    number: int
    first: int
    end: int
    retired: int = NEVER


class Walks:
    """What searches of one query share: rows by shard (its digest) and width, and products by space and first slot.

    Both depend on the query alone, not on the moment, on what is admitted or on how many rows are wanted.
    """

    def __init__(self) -> None:
        self._shards: dict[tuple[str, int], Nearest | None] = {}
        self._scans: dict[tuple[Space, int], Float32Array] = {}

    def through(self, digest: str, width: int, walk: Callable[[], Nearest | None]) -> Nearest | None:
        if (digest, width) not in self._shards:
            self._shards[digest, width] = walk()
        return self._shards[digest, width]

    def over(self, space: Space, query: Float32Array, first: int, end: int) -> Float32Array:
        """The products in slots [first, end); only those beyond what was asked for before are computed."""
        known = self._scans.get((space, first))
        if known is None:
            known = self._scans[space, first] = space.scan(query, first, end)
        elif first + len(known) < end:
            rest = space.scan(query, first + len(known), end)
            known = self._scans[space, first] = np.concatenate((known, rest))
        return known[: end - first]


class Part(NamedTuple):
    """Visible slots from one source, with their dot products; `enough` is that of a narrow search."""

    slots: IntArray
    dots: IntArray
    source: str
    enough: int | None = None

    def exhausted(self, used: int) -> bool:
        """Whether so many of its rows are among the best that a narrow search may have missed others."""
        return self.enough is not None and used > self.enough


def standing(sealed: Sequence[Sealed]) -> list[Sealed]:
    """The shards in use after these were sealed one after another, in order of their slots.

    A shard replaces those that it covers. One that shares only a part of its slots with another in use, or lies
    within one (two processes sealed at once), is not used.
    """
    used: list[Sealed] = []
    for new in sealed:
        rest = [old for old in used if not (new.first <= old.first and old.end <= new.end)]
        if all(old.end <= new.first or new.end <= old.first for old in rest):
            used = sorted([*rest, new], key=lambda one: one.first)
    return used


def check_query(query: GridArray, space: Space) -> int:
    """The query's squared norm; refuses one that cannot be compared exactly with the vectors of `space`."""
    if query.shape != (space.dimensions,):
        raise InvalidInput(
            f"the query has shape {query.shape}, but the store's vectors have {space.dimensions} dimensions; "
            f"embed the question with the store's own embedder"
        )
    norm2 = grid.norm2(query)
    if not 0 < norm2 <= grid.NORM2_MAX:
        raise InvalidInput(
            f"the query's squared norm is {norm2}, not within 1 and {grid.NORM2_MAX}; "
            f"pass it through recollect.events.grid.quantize"
        )
    return norm2


class Search:
    """One search: for the `top` rows of `space` that are alive at `at` and pass `admit`."""

    def __init__(
        self,
        space: Space,
        documents: Documents,
        query: GridArray,
        *,
        at: int,
        top: int,
        admit: Admit | None,
        walks: Walks,
    ) -> None:
        self._space = space
        self._documents = documents
        self._query = query
        self._norm2 = check_query(query, space)
        self._floats: Float32Array = query.astype(np.float32)
        self._at = at
        self._top = top
        self._admit = admit
        self._walks = walks
        self.end = space.slots_before(documents.rows_born(at))

    def visible(self, rows: Int32Array) -> BoolArray:
        """Which of these rows, all born by then, are alive and admitted."""
        seen = np.greater(self._documents.died.take(rows), self._at)
        if self._admit is not None:
            seen[seen] = self._admit(rows[seen])
        return seen

    def scan(self, first: int, end: int) -> Part:
        """Every visible row in slots [first, end)."""
        if first >= end:
            return Part(np.empty(0, np.int64), np.empty(0, np.int64), TAIL)
        seen = self.visible(self._space.rows.array[first:end])
        dots = self._walks.over(self._space, self._floats, first, end)
        return Part(np.flatnonzero(seen) + first, dots[seen].astype(np.int64), TAIL)

    def narrowly(self, sealed: Sealed, shard: Callable[[], Shard], others: Sequence[int]) -> Part:
        """A shard's nearest visible rows, searched only as wide as its share of all rows; `others` rows are in other shards."""
        builder = Builder.parse(sealed.fact.builder)
        glance = builder.glance(self._top, sealed.fact.count, others)
        if glance is None or 2 * glance.width > sealed.fact.count:
            return self.through(sealed, shard)
        found = self._walk(sealed, shard, glance.width)
        if found is None:
            return self.through(sealed, shard)
        seen = self.visible(found.rows)
        if 5 * int(np.count_nonzero(seen)) < 4 * glance.width:
            return self.through(sealed, shard)
        return self._part(found, seen, sealed)._replace(enough=glance.enough)

    def through(self, sealed: Sealed, shard: Callable[[], Shard]) -> Part:
        """The shard's nearest visible rows; search wider while too few are visible, and in the end scan every row."""
        widths = Builder.parse(sealed.fact.builder).widths(self._top)
        for width in widths:
            # Where the graph would have to give half of its rows, looking at all of them is faster.
            if 2 * width > sealed.fact.count:
                break
            found = self._walk(sealed, shard, width)
            if found is None:
                break
            seen = self.visible(found.rows)
            visible = int(np.count_nonzero(seen))
            if visible >= self._top:
                return self._part(found, seen, sealed)
            if visible * widths[-1] < self._top * width:
                break
        return self._each(sealed)

    def _walk(self, sealed: Sealed, shard: Callable[[], Shard], width: int) -> Nearest | None:
        return self._walks.through(sealed.fact.digest, width, lambda: shard().nearest(self._floats, width))

    def _part(self, found: Nearest, seen: BoolArray, sealed: Sealed) -> Part:
        slots = np.searchsorted(self._space.rows.array, found.rows[seen])
        return Part(slots, found.dots[seen], sealed.fact.digest)

    def _each(self, sealed: Sealed) -> Part:
        seen = self.visible(self._space.rows.array[sealed.first : sealed.end])
        slots = np.flatnonzero(seen) + sealed.first
        return Part(slots, self._space.dots(self._floats, slots).astype(np.int64), sealed.fact.digest)

    def merge(self, parts: Sequence[Part]) -> VectorHits:
        """The best of all parts, in their total order."""
        slots = np.concatenate([part.slots for part in parts])
        dots = np.concatenate([part.dots for part in parts])
        part_of = np.repeat(np.arange(len(parts)), [len(part.slots) for part in parts])
        exact = grid.cosines(dots, self._norm2, self._space.norms2.array[slots])
        near = best(exact, self._top)
        rows = self._space.rows.array[slots[near]]
        ids = self._documents.ids.values
        memories = self._documents.memory_of[rows].tolist()
        rounded = round12_array(exact[near])
        keys = zip((-rounded).tolist(), map(ids.__getitem__, memories), range(len(memories)), strict=True)
        order = [place for _, _, place in sorted(keys)[: self._top]]
        places = near[order]
        cosines = rounded[order]
        sources = [parts[number].source for number in part_of[places].tolist()]
        return VectorHits(rows[order], dots[places], cosines, sources)


def best(cosines: FloatArray, top: int) -> npt.NDArray[np.intp]:
    """The places of the `top` largest, and of all that may equal the last of them after rounding."""
    if len(cosines) <= top:
        return np.arange(len(cosines))
    last = len(cosines) - top
    return np.flatnonzero(cosines >= np.partition(cosines, last)[last] - _ROUNDING)
