"""strength: what a memory's strength is after every global downscale since it was last set.

One `Downscaled` event changes every strength, yet nothing is written per memory. A downscale is the map
x -> max(floor, factor * x), and a run of such maps, one after the other, is such a map again:

    max(floor2, factor2 * max(floor1, factor1 * x)) = max(max(floor2, factor2 * floor1), factor2 * factor1 * x)

Definition (version 1). Let d1 … dn be the downscales after the strength was set (or the memory was born) and
at or before the seq asked for. Going from dn back to d1 in float64, from floor = -inf and scale = 1,

    floor = max(floor, scale * floor_i);   scale = scale * factor_i

where factor_i is `tagged_factor` if the memory carried an importance tag when d_i happened, else `factor`.
The strength is max(floor, scale * set strength). Every step is one rounded multiplication or an exact
comparison, so the result is the same bits everywhere, and it depends on the log prefix alone. It differs
from multiplying step by step by a few units in the last place, not at all when the factors are equal, no
floor is reached and the set strength is 1.

A downscale that a later `Downscaled(undoes=…)` revoked does not count, unless that one was revoked in turn.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from recollect.events.facts import Downscaled
from recollect.projections.columns import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Saved,
    State,
    Table,
    distinct,
)

_TABLES_MAX = 64


class Scaling(NamedTuple):
    """The map x -> max(floor, scale * x) of a run of downscales."""

    scale: float
    floor: float


class _Suffixes:
    """The maps of all runs that end at one downscale, by where they start; untagged (0) and tagged (1)."""

    def __init__(self, steps: list[tuple[Scaling, Scaling] | None]) -> None:
        self._steps = steps
        self._paths: dict[tuple[int, bool, tuple[int, ...]], Scaling] = {}
        self.scale: FloatArray = np.ones((2, len(steps) + 1))
        self.floor: FloatArray = np.full((2, len(steps) + 1), -np.inf)
        for tagged in (0, 1):
            scale, floor = 1.0, -np.inf
            for start in range(len(steps) - 1, -1, -1):
                if step := steps[start]:
                    floor = max(floor, scale * step[tagged].floor)
                    scale *= step[tagged].scale
                self.scale[tagged, start], self.floor[tagged, start] = scale, floor

    def along(self, start: int, tagged: bool, flips: tuple[int, ...]) -> Scaling:
        """The map of the run from `start` for a memory whose tag came or went before the steps `flips`.

        `tagged` says how the run ends; the flips are ascending.
        """
        known = self._paths.get((start, tagged, flips))
        if known is None:
            known = self._paths[start, tagged, flips] = self._compose(start, tagged, flips)
        return known

    def _compose(self, start: int, tagged: bool, flips: tuple[int, ...]) -> Scaling:
        scale, floor = 1.0, -np.inf
        for index in range(len(self._steps) - 1, start - 1, -1):
            # Twice flipped before the same step is as if never flipped.
            if step := self._steps[index]:
                flipped = (len(flips) - bisect_right(flips, index)) % 2 == 1
                floor = max(floor, scale * step[tagged ^ flipped].floor)
                scale *= step[tagged ^ flipped].scale
        return Scaling(scale, floor)


class Downscales:
    """All downscales of the log, and the strengths that they leave."""

    def __init__(self) -> None:
        self._events = Table(
            [("seq", "q"), ("undoes", "q"), ("factor", "d"), ("tagged_factor", "d"), ("floor", "d")]
        )
        self._seqs: Column[np.int64] = Column(np.int64)
        self._tables: dict[int, _Suffixes] = {}

    def append(self, seq: int, fact: Downscaled) -> None:
        self._events.append(seq, fact.undoes or 0, fact.factor, fact.tagged_factor, fact.floor)
        self._seqs.append(seq)

    def count(self, seq: int) -> int:
        """How many downscales there were at or before `seq`."""
        return int(np.searchsorted(self._seqs.array, seq, side="right"))

    def strengths(
        self, base: FloatArray, since: IntArray, tagged: BoolArray, seqs: int | IntArray
    ) -> FloatArray:
        """Strengths at a seq, the same for all or one for each, of memories set to `base` at the seqs `since` and
        (un)tagged ever since."""
        if not isinstance(seqs, np.ndarray):
            return self._after(base, since, tagged, self.count(seqs))
        counts, strengths = np.searchsorted(self._seqs.array, seqs, side="right"), base.copy()
        for count in distinct(counts).tolist():  # within a group the seq makes no difference
            here = counts == count
            strengths[here] = self._after(base[here], since[here], tagged[here], count)
        return strengths

    def _after(self, base: FloatArray, since: IntArray, tagged: BoolArray, count: int) -> FloatArray:
        """Strengths after the first `count` downscales."""
        if not count:
            return base
        table = self._table(count)
        starts = np.searchsorted(self._seqs.array, since, side="right")
        np.minimum(starts, count, out=starts)
        rows = tagged.astype(np.intp)
        return np.maximum(table.floor[rows, starts], table.scale[rows, starts] * base)

    def strength(self, base: float, since: int, tagged: bool, flip_seqs: list[int], seq: int) -> float:
        """The same for one memory whose tag came or went at `flip_seqs`; `tagged` is how it is at `seq`."""
        count = self.count(seq)
        start = min(self.count(since), count)
        flips = tuple(self.count(flip) for flip in flip_seqs if since < flip <= seq)
        run = self._table(count).along(start, tagged, flips)
        return max(run.floor, run.scale * base)

    def counting(self, since: int, seq: int) -> list[int]:
        """The seqs of the downscales after `since` that count at `seq`, ascending."""
        count = self.count(seq)
        steps = self._steps(count)
        return [int(self._seqs[i]) for i in range(self.count(since), count) if steps[i]]

    def _table(self, count: int) -> _Suffixes:
        table = self._tables.get(count)
        if table is None:
            if len(self._tables) >= _TABLES_MAX:
                del self._tables[next(iter(self._tables))]
            table = self._tables[count] = _Suffixes(self._steps(count))
        return table

    def _steps(self, count: int) -> list[tuple[Scaling, Scaling] | None]:
        """The first `count` downscales as maps; None where one was revoked by the last of them."""
        revoked: set[int] = set()
        steps: list[tuple[Scaling, Scaling] | None] = []
        for index in range(count - 1, -1, -1):
            seq, undoes, factor, tagged_factor, floor = self._events.row(index)
            if seq in revoked:
                steps.append(None)
                continue
            if undoes < seq:
                revoked.add(undoes)
            steps.append((Scaling(factor, floor), Scaling(tagged_factor, floor)))
        return steps[::-1]

    def dump(self, prefix: str) -> State:
        return {f"{prefix}.downscales": self._events.array}

    def load(self, prefix: str, state: Saved) -> None:
        self._events.load(state[f"{prefix}.downscales"])
        self._seqs.load(self._events.array["seq"].copy())
        self._tables.clear()
