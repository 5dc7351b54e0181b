"""Matches: the terms of one query against the rows alive at one seq, and the best of these rows.

Scores are canonical: idf · weight summed in query order, one elementwise sum over the rows in question, then rounded
(`portable_math`). The selection finds rows worth scoring and may find too many; canonical scores, and between equals
the memory ids, decide the order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lexical.bm25 import VARIANTS, Bm25, absent_weight, surplus_limit
from recollect.projections.lexical.forward import ForwardIndex
from recollect.projections.lexical.postings import TermPostings
from recollect.projections.portable_math import ROUNDING_MARGIN, round12_array

# --- selection: which rows are worth scoring ------------------------------------------------------
#
# Which rows can be among the best of a query, found without reading every posting.
#
# It works on quick sums, which equal the canonical scores but for the last bits and for what absent terms give.
# Terms are taken in the order of the most that each can still give. Once `wanted` rows have more than all the
# remaining terms together can give, no row without one of the terms taken can be among the best, and the long
# lists of the remaining terms are never read: only their frequencies in the rows that are left. That is MaxScore
# (Turtle & Flood 1995), list at a time. Quick sums are always added in the same order, so a row's is the same
# number however the terms were divided.

_SAMPLE = 512
_CELLS_AT_ONCE = 1 << 21


class Weighed(NamedTuple):
    """A term with what its weight is multiplied by, and the most it can give to a row."""

    term: TermMatch
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

    def __init__(self, matches: Matches, room: Room) -> None:
        self._matches = matches
        self._room = room
        times = Counter(term.term for term in matches.terms)
        distinct = {term.term: term for term in matches.terms if term.df}
        weighed = [self._weigh(term, times[word]) for word, term in distinct.items()]
        self._terms = sorted(weighed, key=lambda one: (-one.bound, one.term.df))
        bounds = [one.bound for one in self._terms]
        self._still = [*reversed(list(accumulate(reversed(bounds)))), 0.0]

    def _weigh(self, term: TermMatch, times: int) -> Weighed:
        """Put a term with a negative or unlimited weight first: every row that holds it must be scored."""
        factor = term.idf * times
        if factor == 0.0:
            return Weighed(term, factor, 0.0)
        return Weighed(term, factor, factor * self._matches.surplus_limit if factor > 0.0 else math.inf)

    def __bool__(self) -> bool:
        return bool(self._terms)

    def reaching(self, wanted: int) -> Reached:
        """The rows with the `wanted` highest sums, and all that rounding might put among them."""
        rows, sums, taken = self._take_lists(wanted)
        if len(rows) < wanted:
            return Reached(-np.inf, rows, sums)
        inside = sums >= self.below(_nth_highest(sums, wanted)) - self._still[taken]
        rows, sums = rows[inside], sums[inside]
        at_once = max(_CELLS_AT_ONCE // max(len(rows), 1), 1)
        for start in range(taken, len(self._terms), at_once):
            left = self._terms[start : start + at_once]
            tfs = self._matches.counted([one.term for one in left], rows)
            for one, frequencies in zip(left, tfs, strict=True):
                sums = sums + one.factor * self._matches.surplus_if_held(frequencies, rows)
        cut = self.below(_nth_highest(sums, wanted))
        reached = sums >= cut
        return Reached(cut, rows[reached], sums[reached])

    def _take_lists(self, wanted: int) -> tuple[IntArray, FloatArray, int]:
        """The rows of the lists that have to be read, each once, their sums so far, and how many lists."""
        room = self._room
        rows, sums = np.empty(0, dtype=np.int64), np.empty(0)
        for number, one in enumerate(self._terms, start=1):
            here = one.term.rows
            room.sums[here] += one.factor * self._matches.surplus(one.term.tfs, here)
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
        return score - 2.0 * ROUNDING_MARGIN * (abs(score) + self._matches.base)


def shortlist(wanted: int, rows: IntArray, sums: FloatArray, selection: Selection) -> IntArray:
    """Of these rows those that may be among the `wanted` best."""
    return rows if len(rows) <= wanted else rows[sums >= selection.below(_nth_highest(sums, wanted))]


def _nth_highest(values: FloatArray, n: int) -> float:
    """The n-th highest value: a sorted sample gives a value a little below it, and only higher ones are sorted."""
    step = len(values) // _SAMPLE
    if step > 1:
        guess = np.sort(values[::step])[-min(2 * n // step + 8, _SAMPLE)]
        above = values[values >= guess]
        values = above if len(above) >= n else values
    return float(np.partition(values, len(values) - n)[len(values) - n])


# --- scoring -------------------------------------------------------------------------------------

Admit = Callable[[Int32Array], BoolArray]
IdsOf = Callable[[IntArray], list[str]]

_WIDENING = 8
# What one step of each way to count terms in rows takes, about; only which way is taken depends on it.
_TOKEN_NS = 8
_POSTING_NS = 6
_LOOK_UP_NS = 40


class LexicalHits(NamedTuple):
    """Rows and their scores, best first."""

    rows: Int32Array
    scores: FloatArray


class TermMatch:
    """One term of the query: how many living rows hold it, and these rows with its frequencies once they are read."""

    def __init__(self, term: str, idf: float, df: int, read: Callable[[], TermPostings]) -> None:
        self.term = term
        self.idf = idf
        self.df = df
        self._read = read

    @cached_property
    def postings(self) -> TermPostings:
        found = self._read()
        assert len(found.rows) == self.df, "the dead are counted apart from the born"
        return found

    @cached_property
    def rows(self) -> IntArray:
        return self.postings.rows.astype(np.int64)

    @property
    def tfs(self) -> Int32Array:
        return self.postings.tfs

    def tfs_in(self, rows: IntArray) -> Int32Array:
        """The term's frequency in each of these rows; 0 where it is absent."""
        if not self.df:
            return np.zeros(len(rows), dtype=np.int32)
        places = np.minimum(np.searchsorted(self.rows, rows), self.df - 1)
        return np.where(self.rows[places] == rows, self.tfs[places], np.int32(0))


class Texts(NamedTuple):
    """Where the terms of a row's text can be counted, and which rows are alive."""

    forward: ForwardIndex
    alive: Callable[[IntArray], BoolArray]


class Matches:
    """`terms` in query order, repeats included; `lengths` of all rows."""

    def __init__(
        self,
        terms: list[TermMatch],
        *,
        lengths: Int32Array,
        average_length: float,
        bm25: Bm25,
        texts: Texts | None = None,
    ) -> None:
        self.terms = terms
        self._by_term = {term.term: term for term in terms}
        places = {term: place for place, term in enumerate(self._by_term)}
        self._places = [places[term.term] for term in terms]
        self._lengths = lengths
        self._average_length = average_length
        self._bm25 = bm25
        self._weight = VARIANTS[bm25.family][1]
        self._absent = absent_weight(bm25)
        self.surplus_limit = surplus_limit(bm25)
        self._texts = texts

    # --- canonical scores ------------------------------------------------------------------------

    def counted(self, terms: Sequence[TermMatch], rows: IntArray) -> Int32Array:
        """tf, one line per given term of the query, one column per row.

        They are counted in the rows' texts where that is less work than reading the terms' lists.
        """
        if self._texts is not None:
            tokens = int(self._lengths.take(rows).sum())
            lists_ns = sum(term.df * _POSTING_NS + len(rows) * _LOOK_UP_NS for term in terms)
            if tokens * _TOKEN_NS <= lists_ns:
                number_of = self._texts.forward.vocabulary.get
                found = self._texts.forward.frequencies(rows, [number_of(term.term, -1) for term in terms])
                alive = self._texts.alive(rows)
                return found if alive.all() else found * alive
        return np.stack([self._by_term[term.term].tfs_in(rows) for term in terms])

    def frequencies(self, rows: IntArray) -> Int32Array:
        """tf, one line per term of the query, one column per row."""
        return self.counted(list(self._by_term.values()), rows)[self._places]

    def contributions(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        """What each term of the query gives to each of these rows, in the shape of `tfs`."""
        idfs = np.array([[term.idf] for term in self.terms])
        with np.errstate(divide="ignore", invalid="ignore"):  # only where the term is absent
            weights = self._weight(tfs, self._relative_lengths(rows), self._bm25)
        return idfs * np.where(tfs > 0, weights, self._absent)

    def scores(self, rows: IntArray) -> FloatArray:
        """The rounded score of each of these rows; 0.0 where no term matches.

        A long question is scored for a few rows at a time: memory stays small, and no bit depends on it.
        """
        if not self.terms:
            return np.zeros(len(rows))
        distinct, scores = list(self._by_term.values()), np.empty(len(rows))
        at_once = max(_CELLS_AT_ONCE // len(self.terms), 1)
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            tfs = self.counted(distinct, some)[self._places]
            total: FloatArray = np.zeros(len(some))
            for contribution in self.contributions(tfs, some):
                total += contribution
            scores[start : start + at_once] = round12_array(np.where(tfs.any(axis=0), total, 0.0))
        return scores

    def _relative_lengths(self, rows: IntArray) -> FloatArray:
        return self._lengths.take(rows) / self._average_length

    # --- selection -------------------------------------------------------------------------------

    @cached_property
    def base(self) -> float:
        """What absent terms give to every row."""
        total = 0.0
        for term in self.terms:  # Python's own sum carries the error along from 3.12 on
            total += term.idf
        return total * self._absent

    def surplus(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        """A term's weight in these rows, which hold it, less that of an absent one."""
        weights = self._weight(tfs, self._relative_lengths(rows), self._bm25)
        return weights - self._absent if self._absent else weights

    def surplus_if_held(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        """The same for any rows; 0 where tf is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):  # only where the term is absent
            return np.where(tfs > 0, self.surplus(tfs, rows), 0.0)

    def best(self, top: int, room: Room, ids_of: IdsOf, admit: Admit | None) -> LexicalHits:
        """The `top` best rows that `admit` lets pass; it is asked about the best rows first."""
        selection = Selection(self, room)
        if top <= 0 or not selection:
            return LexicalHits(np.empty(0, dtype=np.int32), np.empty(0))
        wanted, above, cut = top, np.inf, np.inf
        kept, kept_sums = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        while cut != -np.inf and sum(map(len, kept)) < top:
            cut, rows, sums = selection.reaching(wanted)
            fresh = sums < above
            rows, sums = rows[fresh], sums[fresh]
            if admit is not None:
                admitted = admit(rows.astype(np.int32))
                rows, sums = rows[admitted], sums[admitted]
            kept.append(rows)
            kept_sums.append(sums)
            wanted, above = wanted * _WIDENING, cut
        rows = shortlist(top, np.concatenate(kept), np.concatenate(kept_sums), selection)
        scores = self.scores(rows)
        keys = zip((-scores).tolist(), ids_of(rows), range(len(rows)), strict=True)
        order = [place for _, _, place in sorted(keys)[:top]]
        return LexicalHits(rows[order].astype(np.int32), scores[order])
