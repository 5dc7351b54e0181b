"""Selection: which rows can be among the best of a query, found without reading every posting.

It works on quick sums, which equal the canonical scores but for the last bits and for what absent terms give.
Terms are taken in the order of the most that each can still give. Once `wanted` rows have more than all the
remaining terms together can give, no row without one of the terms taken can be among the best, and the long
lists of the remaining terms are never read: only their frequencies in the rows that are left. That is MaxScore
(Turtle & Flood 1995), list at a time. Quick sums are always added in the same order, so a row's is the same
number however the terms were divided.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np

from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.portable_math import ROUNDING_MARGIN

_SAMPLE = 512
_CELLS_AT_ONCE = 1 << 21


class Term(Protocol):
    """One term of the query: the living rows that hold it, and how telling it is."""

    @property
    def term(self) -> str: ...

    @property
    def df(self) -> int: ...

    @property
    def idf(self) -> float: ...

    @property
    def rows(self) -> IntArray: ...

    @property
    def tfs(self) -> Int32Array: ...


class Scoring(Protocol):
    """What a query's terms are worth."""

    @property
    def base(self) -> float:
        """What absent terms give to every row."""
        ...

    def surplus(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        """A term's weight in these rows, which hold it, less that of an absent one."""
        ...

    def surplus_if_held(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        """The same for any rows; 0 where tf is 0."""
        ...

    @property
    def surplus_limit(self) -> float:
        """The most that a weight can exceed that of an absent term."""
        ...

    def counted(self, terms: Sequence[Term], rows: IntArray) -> Int32Array:
        """The frequency of each term in each row, one line per term."""
        ...


class Weighed(NamedTuple):
    """A term with what its weight is multiplied by, and the most it can give to a row."""

    term: Term
    factor: float
    bound: float


class Reached(NamedTuple):
    """All rows whose sum is at least `cut`, with their sums; -inf if these are all that match."""

    cut: float
    rows: IntArray
    sums: FloatArray


class Room:
    """Room for one sum and one mark per row, all 0 between two queries."""

    def __init__(self, rows: int) -> None:
        self.sums: FloatArray = np.zeros(rows)
        self.seen: BoolArray = np.zeros(rows, dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.sums)

    def fresh(self, rows: IntArray) -> IntArray:
        """Those of these rows that were not seen before; they are from now on."""
        unseen = rows[~self.seen.take(rows)]
        self.seen[unseen] = True
        return unseen

    def clear(self, rows: IntArray) -> None:
        self.sums[rows] = 0.0
        self.seen[rows] = False


class Selection:
    """The rows that hold a term of the query."""

    def __init__(self, terms: Sequence[Term], scoring: Scoring, room: Room) -> None:
        self._scoring = scoring
        self._room = room
        times = Counter(term.term for term in terms)
        distinct = {term.term: term for term in terms if term.df}
        weighed = [self._weigh(term, times[word]) for word, term in distinct.items()]
        self._terms = sorted(weighed, key=lambda one: (-one.bound, one.term.df))
        bounds = [one.bound for one in self._terms]
        self._still = [*reversed(list(accumulate(reversed(bounds)))), 0.0]

    def _weigh(self, term: Term, times: int) -> Weighed:
        """A term that takes away, or gives without limit, comes first: every row that holds it is looked at."""
        factor = term.idf * times
        if factor == 0.0:
            return Weighed(term, factor, 0.0)
        return Weighed(term, factor, factor * self._scoring.surplus_limit if factor > 0.0 else math.inf)

    def __bool__(self) -> bool:
        return bool(self._terms)

    def reaching(self, wanted: int) -> Reached:
        """The rows with the `wanted` highest sums, and all that the last bits might put among them."""
        rows, sums, taken = self._take_lists(wanted)
        if len(rows) < wanted:
            return Reached(-np.inf, rows, sums)
        inside = sums >= self.below(_nth_highest(sums, wanted)) - self._still[taken]
        rows, sums = rows[inside], sums[inside]
        at_once = max(_CELLS_AT_ONCE // max(len(rows), 1), 1)
        for start in range(taken, len(self._terms), at_once):
            left = self._terms[start : start + at_once]
            tfs = self._scoring.counted([one.term for one in left], rows)
            for one, frequencies in zip(left, tfs, strict=True):
                sums = sums + one.factor * self._scoring.surplus_if_held(frequencies, rows)
        cut = self.below(_nth_highest(sums, wanted))
        reached = sums >= cut
        return Reached(cut, rows[reached], sums[reached])

    def _take_lists(self, wanted: int) -> tuple[IntArray, FloatArray, int]:
        """The rows of the lists that have to be read, each once, their sums so far, and how many lists."""
        room = self._room
        rows, sums = np.empty(0, dtype=np.int64), np.empty(0)
        for number, one in enumerate(self._terms, start=1):
            here = one.term.rows
            room.sums[here] += one.factor * self._scoring.surplus(one.term.tfs, here)
            rows = np.concatenate((rows, room.fresh(here)))
            still = self._still[number]
            if number < len(self._terms) and (len(rows) < wanted or still >= self._still[0] - still):
                continue  # too few rows, or none that can have more than the remaining terms may give
            sums = room.sums.take(rows)
            if number == len(self._terms) or still < self.below(_nth_highest(sums, wanted)):
                break
        room.clear(rows)
        return rows, sums, number

    def below(self, score: float) -> float:
        """Low enough to keep every quick sum whose canonical score may round to no less than this one's."""
        if score == -np.inf:
            return score
        return score - 2.0 * ROUNDING_MARGIN * (abs(score) + self._scoring.base)


def shortlist(wanted: int, rows: IntArray, sums: FloatArray, selection: Selection) -> IntArray:
    """Of these rows those that may be among the `wanted` best."""
    return rows if len(rows) <= wanted else rows[sums >= selection.below(_nth_highest(sums, wanted))]


def _nth_highest(values: FloatArray, n: int) -> float:
    """The n-th highest value: a sorted sample guesses a value a little below it, and the rest is left out."""
    step = len(values) // _SAMPLE
    if step > 1:
        guess = np.sort(values[::step])[-min(2 * n // step + 8, _SAMPLE)]
        above = values[values >= guess]
        values = above if len(above) >= n else values
    return float(np.partition(values, len(values) - n)[len(values) - n])
