"""Matches: the terms of one query against the rows alive at one seq, and the best of these rows.

Scores are canonical: idf · weight summed in query order, one elementwise sum over the rows in question, then
rounded (see `rounding`). Selection is allowed to be fast because it only has to find *enough* rows: it works
on quick sums, cuts below any score that could still round up to the cut, and leaves the last word to the
canonical scores and, between equals, to the memory ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from recollect.projections.bm25 import VARIANTS, Bm25, absent_weight
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.rounding import ROUNDING_MARGIN, round12_array

Admit = Callable[[Int32Array], BoolArray]
IdsOf = Callable[[IntArray], list[str]]

_WIDENING = 8


class LexicalHits(NamedTuple):
    """Rows and their scores, best first."""

    rows: Int32Array
    scores: FloatArray


class TermMatch(NamedTuple):
    """One term of the query: the living rows that hold it, ascending, and its frequency in each."""

    term: str
    df: int
    idf: float
    rows: IntArray
    tfs: Int32Array

    def tfs_in(self, rows: IntArray) -> Int32Array:
        """The term's frequency in each of these rows; 0 where it is absent."""
        if not self.df:
            return np.zeros(len(rows), dtype=np.int32)
        places = np.minimum(np.searchsorted(self.rows, rows), self.df - 1)
        return np.where(self.rows[places] == rows, self.tfs[places], np.int32(0))


class Matches:
    """`terms` in query order, repeats included; `lengths` of all rows."""

    def __init__(
        self, terms: list[TermMatch], *, lengths: Int32Array, average_length: float, bm25: Bm25
    ) -> None:
        self.terms = terms
        self._lengths = lengths
        self._average_length = average_length
        self._bm25 = bm25
        self._weight = VARIANTS[bm25.variant][1]
        self._absent = absent_weight(bm25)

    # --- canonical scores ------------------------------------------------------------------------

    def frequencies(self, rows: IntArray) -> Int32Array:
        """tf, one line per term of the query, one column per row."""
        return np.stack([term.tfs_in(rows) for term in self.terms])

    def contributions(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        """What each term of the query gives to each of these rows, in the shape of `tfs`."""
        idfs = np.array([[term.idf] for term in self.terms])
        with np.errstate(divide="ignore", invalid="ignore"):  # only where the term is absent
            weights = self._weight(tfs, self._relative_lengths(rows), self._bm25)
        return idfs * np.where(tfs > 0, weights, self._absent)

    def scores(self, rows: IntArray) -> FloatArray:
        """The rounded score of each of these rows; 0.0 where no term matches."""
        total: FloatArray = np.zeros(len(rows))
        if not self.terms:
            return total
        tfs = self.frequencies(rows)
        for contribution in self.contributions(tfs, rows):
            total += contribution
        return round12_array(np.where(tfs.any(axis=0), total, 0.0))

    def _relative_lengths(self, rows: IntArray) -> FloatArray:
        return self._lengths.take(rows) / self._average_length

    # --- selection -------------------------------------------------------------------------------

    def best(self, top: int, sums: FloatArray, ids_of: IdsOf, admit: Admit | None) -> LexicalHits:
        """The `top` best rows that `admit` lets pass. `sums` is room for one zero per row, left as it was."""
        lists = list({term.term: term.rows for term in self.terms if term.df}.values())
        if top <= 0 or not lists:
            return LexicalHits(np.empty(0, dtype=np.int32), np.empty(0))
        quick = self._quick_sums(lists, sums)
        rows = self._enough(top, lists, quick, admit)
        return self._first(top, rows, ids_of)

    def _quick_sums(self, lists: list[IntArray], sums: FloatArray) -> list[FloatArray]:
        """For each list of rows their scores, less what absent terms give, which is the same for every row."""
        for term in self.terms:
            L = self._relative_lengths(term.rows)
            surplus = self._weight(term.tfs, L, self._bm25) - self._absent
            np.add.at(sums, term.rows, term.idf * surplus)
        quick = [sums.take(rows) for rows in lists]
        for rows in lists:
            sums[rows] = 0.0
        return quick

    def _enough(
        self, top: int, lists: list[IntArray], quick: list[FloatArray], admit: Admit | None
    ) -> IntArray:
        """Admitted rows among which the `top` best surely are; asks `admit` about the best rows first."""
        wanted, above = top, np.inf
        kept, kept_sums = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        while True:
            cut = self._below(_floor(wanted, quick))
            rows, sums = _between(cut, above, lists, quick)
            if admit is not None:
                admitted = admit(rows.astype(np.int32))
                rows, sums = rows[admitted], sums[admitted]
            kept.append(rows)
            kept_sums.append(sums)
            if cut == -np.inf or sum(map(len, kept)) >= top:
                return self._shortlist(top, np.concatenate(kept), np.concatenate(kept_sums))
            wanted, above = wanted * _WIDENING, cut

    def _shortlist(self, top: int, rows: IntArray, sums: FloatArray) -> IntArray:
        if len(rows) <= top:
            return rows
        return rows[sums >= self._below(_nth_highest(sums, top))]

    def _below(self, score: float) -> float:
        """Low enough to keep every quick sum whose canonical score may round to no less than this one's."""
        if score == -np.inf:
            return score
        base = sum(term.idf for term in self.terms) * self._absent
        return score - 2.0 * ROUNDING_MARGIN * (abs(score) + base)

    def _first(self, top: int, rows: IntArray, ids_of: IdsOf) -> LexicalHits:
        scores = self.scores(rows)
        keys = zip((-scores).tolist(), ids_of(rows), range(len(rows)), strict=True)
        order = [place for _, _, place in sorted(keys)[:top]]
        return LexicalHits(rows[order].astype(np.int32), scores[order])


def _floor(wanted: int, quick: list[FloatArray]) -> float:
    """A sum that at least `wanted` rows reach, or -inf if that is not sure.

    Short lists belong to telling terms and have the high sums. A row is in each list once at most, so among
    the `wanted` times n highest entries of n lists there are `wanted` different rows.
    """
    pool: list[FloatArray] = []
    entries = 0
    for sums in sorted(quick, key=len):
        pool.append(sums)
        entries += len(sums)
        surplus = entries - wanted * len(pool)
        if surplus >= 0:
            return _nth_highest(np.concatenate(pool), wanted * len(pool))
    return -np.inf


def _nth_highest(values: FloatArray, n: int) -> float:
    """The n-th highest value; what a sample already has n values above is not looked at again."""
    step = math.isqrt(len(values) // n)
    if step > 1:
        values = values[values >= _nth_highest(values[::step], n)]
    return float(np.partition(values, len(values) - n)[len(values) - n])


def _between(
    low: float, high: float, lists: list[IntArray], quick: list[FloatArray]
) -> tuple[IntArray, FloatArray]:
    """The different rows with low <= sum < high, ascending, and their sums."""
    inside = [np.flatnonzero((sums >= low) & (sums < high)) for sums in quick]
    rows = np.concatenate([all_rows[places] for all_rows, places in zip(lists, inside, strict=True)])
    sums = np.concatenate([all_sums[places] for all_sums, places in zip(quick, inside, strict=True)])
    distinct, first = np.unique(rows, return_index=True)
    return distinct, sums[first]
