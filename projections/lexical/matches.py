"""Matches: the terms of one query against the rows alive at one seq, and the best of these rows.

Scores are canonical: idf · weight summed in query order, one elementwise sum over the rows in question, then
rounded (see `rounding`). Which rows are worth scoring is found by `selection`, which has to find *enough* rows;
the last word is with the canonical scores and, between equals, with the memory ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lexical.bm25 import VARIANTS, Bm25, absent_weight, surplus_limit
from recollect.projections.lexical.postings import LivingPostings
from recollect.projections.lexical.selection import Room, Selection, Term, shortlist
from recollect.projections.rounding import round12_array

Admit = Callable[[Int32Array], BoolArray]
IdsOf = Callable[[IntArray], list[str]]
# The frequencies of terms in living rows out of the rows' texts, or None where reading postings is less work.
Counter = Callable[[Sequence[Term], IntArray], Int32Array | None]

_WIDENING = 8
_CELLS_AT_ONCE = 1 << 21


class LexicalHits(NamedTuple):
    """Rows and their scores, best first."""

    rows: Int32Array
    scores: FloatArray


class TermMatch:
    """One term of the query: the living rows that hold it, ascending, and its frequency in each."""

    def __init__(self, term: str, idf: float, living: LivingPostings) -> None:
        self.term = term
        self.df = living.count
        self.idf = idf
        self._living = living

    @cached_property
    def rows(self) -> IntArray:
        return self._living.postings.rows.astype(np.int64)

    @property
    def tfs(self) -> Int32Array:
        return self._living.postings.tfs

    def tfs_in(self, rows: IntArray) -> Int32Array:
        """The term's frequency in each of these rows; 0 where it is absent."""
        if not self.df:
            return np.zeros(len(rows), dtype=np.int32)
        places = np.minimum(np.searchsorted(self.rows, rows), self.df - 1)
        return np.where(self.rows[places] == rows, self.tfs[places], np.int32(0))


class Matches:
    """`terms` in query order, repeats included; `lengths` of all rows."""

    def __init__(
        self,
        terms: list[TermMatch],
        *,
        lengths: Int32Array,
        average_length: float,
        bm25: Bm25,
        counter: Counter | None = None,
    ) -> None:
        self.terms = terms
        self._lengths = lengths
        self._average_length = average_length
        self._bm25 = bm25
        self._weight = VARIANTS[bm25.family][1]
        self._absent = absent_weight(bm25)
        self._counter = counter

    # --- canonical scores ------------------------------------------------------------------------

    def frequencies(self, rows: IntArray) -> Int32Array:
        """tf, one line per term of the query, one column per row."""
        places: dict[str, int] = {}
        for term in self.terms:
            places.setdefault(term.term, len(places))
        distinct = {term.term: term for term in self.terms}
        return self.counted(list(distinct.values()), rows)[[places[term.term] for term in self.terms]]

    def counted(self, terms: Sequence[Term], rows: IntArray) -> Int32Array:
        """tf, one line per given term of the query, one column per row."""
        found = self._counter(terms, rows) if self._counter else None
        if found is not None:
            return found
        by_term = {term.term: term for term in self.terms}
        return np.stack([by_term[term.term].tfs_in(rows) for term in terms])

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
        at_once = max(_CELLS_AT_ONCE // len(self.terms), 1)
        parts = [self._scores(rows[start : start + at_once]) for start in range(0, len(rows), at_once)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])

    def _scores(self, rows: IntArray) -> FloatArray:
        total: FloatArray = np.zeros(len(rows))
        tfs = self.frequencies(rows)
        for contribution in self.contributions(tfs, rows):
            total += contribution
        return round12_array(np.where(tfs.any(axis=0), total, 0.0))

    def _relative_lengths(self, rows: IntArray) -> FloatArray:
        return self._lengths.take(rows) / self._average_length

    # --- selection -------------------------------------------------------------------------------

    @cached_property
    def base(self) -> float:
        return sum(term.idf for term in self.terms) * self._absent

    def surplus(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        weights = self._weight(tfs, self._relative_lengths(rows), self._bm25)
        return weights - self._absent if self._absent else weights

    def surplus_if_held(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):  # only where the term is absent
            return np.where(tfs > 0, self.surplus(tfs, rows), 0.0)

    def surplus_limit(self) -> float:
        return surplus_limit(self._bm25)

    def best(self, top: int, room: Room, ids_of: IdsOf, admit: Admit | None) -> LexicalHits:
        """The `top` best rows that `admit` lets pass."""
        selection = Selection(self.terms, self, room)
        if top <= 0 or not selection:
            return LexicalHits(np.empty(0, dtype=np.int32), np.empty(0))
        return self._first(top, self._enough(top, selection, admit), ids_of)

    def _enough(self, top: int, selection: Selection, admit: Admit | None) -> IntArray:
        """Admitted rows among which the `top` best surely are; asks `admit` about the best rows first."""
        wanted, above = top, np.inf
        kept, kept_sums = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        while True:
            cut, rows, sums = selection.reaching(wanted)
            fresh = sums < above
            rows, sums = rows[fresh], sums[fresh]
            if admit is not None:
                admitted = admit(rows.astype(np.int32))
                rows, sums = rows[admitted], sums[admitted]
            kept.append(rows)
            kept_sums.append(sums)
            if cut == -np.inf or sum(map(len, kept)) >= top:
                return shortlist(top, np.concatenate(kept), np.concatenate(kept_sums), selection)
            wanted, above = wanted * _WIDENING, cut

    def _first(self, top: int, rows: IntArray, ids_of: IdsOf) -> LexicalHits:
        scores = self.scores(rows)
        keys = zip((-scores).tolist(), ids_of(rows), range(len(rows)), strict=True)
        order = [place for _, _, place in sorted(keys)[:top]]
        return LexicalHits(rows[order].astype(np.int32), scores[order])
