"""popularity: the memories accessed most often by a seq, without looking at the others.

The n-th access of a memory lifts it to level n. Each level lists the records that reached it, in seq order, so
the members of a level at a seq are a prefix of its list, and a level never has more members than the one below
it. The lists are brought up to date when they are asked, so neither folding nor loading pays for them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import islice

import numpy as np

from recollect.projections.columns import IntArray, Versions

_ONE_BY_ONE_MAX = 64


class Popularity:
    def __init__(self, usage: Versions) -> None:
        self._usage = usage
        self._levels: list[array[int]] = []
        self._listed = 0

    def most_accessed(self, seq: int, top: int) -> IntArray:
        """The `top` memories by the number of accesses, most first; of equal ones, the first to reach the number."""
        self._catch_up()
        level = bisect_left(range(len(self._levels)), 1, key=lambda n: self._members(n, seq) < top)
        chosen = dict.fromkeys(self._above(level, seq))
        if level > 0:
            owners = self._usage.column("owner")
            for node in islice(self._levels[level - 1], self._members(level - 1, seq)):
                if len(chosen) == top:
                    break
                chosen.setdefault(int(owners[node]))
        return np.fromiter(chosen, dtype=np.int64, count=len(chosen))

    def _members(self, level: int, seq: int) -> int:
        """How many memories had reached a level (0: one access) by `seq`."""
        return bisect_right(self._levels[level], seq, key=self._usage.seq)

    def _above(self, level: int, seq: int) -> list[int]:
        """The memories that had reached this level, in order; fewer than were asked for."""
        if level >= len(self._levels):
            return []
        nodes = np.array(self._levels[level][: self._members(level, seq)], dtype=np.int64)
        owners = self._usage.column("owner")[nodes].astype(np.int64)
        latest = self._usage.at(owners, seq)
        order = np.lexsort((latest, -self._usage.read(latest, "accesses", 0)))
        return [int(owner) for owner in owners[order]]

    def _catch_up(self) -> None:
        """List the records written since; many at a time are sorted by level first."""
        first, self._listed = self._listed, len(self._usage)
        levels = self._usage.column("accesses")[first:].astype(np.int64) - 1
        if not len(levels):
            return
        while len(self._levels) <= int(levels.max()):
            self._levels.append(array("i"))
        if len(levels) <= _ONE_BY_ONE_MAX:
            for node, level in enumerate(levels.tolist(), first):
                self._levels[level].append(node)
            return
        order = np.argsort(levels, kind="stable")
        ends = np.cumsum(np.bincount(levels)).tolist()
        for level, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            self._levels[level].frombytes((order[start:end] + first).astype(np.int32).tobytes())
