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
from recollect.projections.lexical.forward import ForwardIndex
from recollect.projections.lexical.postings import TermPostings
from recollect.projections.lexical.selection import Room, Selection, Term, shortlist
from recollect.projections.portable_math import round12_array

Admit = Callable[[Int32Array], BoolArray]
IdsOf = Callable[[IntArray], list[str]]

_WIDENING = 8
# What one step of each way to count terms in rows takes, about; only which way is taken depends on it.
_TOKEN_NS = 8
_POSTING_NS = 6
_LOOK_UP_NS = 40
_CELLS_AT_ONCE = 1 << 21


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

    def counted(self, terms: Sequence[Term], rows: IntArray) -> Int32Array:
        """tf, one line per given term of the query, one column per row.

        They are counted in the rows' texts where that is less work than reading the terms' lists.
        """
        if self._texts is not None:
            tokens = int(self._lengths.take(rows).sum())
            lists_ns = sum(term.df * _POSTING_NS + len(rows) * _LOOK_UP_NS for term in terms)
            if tokens * _TOKEN_NS <= lists_ns:
                number_of = self._texts.forward.vocabulary.get
                found = self._texts.forward.frequencies(rows, [number_of(term.term, -1) for term in terms])
                found[:, ~self._texts.alive(rows)] = 0
                return found
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
        total = 0.0
        for term in self.terms:  # Python's own sum carries the error along from 3.12 on
            total += term.idf
        return total * self._absent

    def surplus(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        weights = self._weight(tfs, self._relative_lengths(rows), self._bm25)
        return weights - self._absent if self._absent else weights

    def surplus_if_held(self, tfs: Int32Array, rows: IntArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):  # only where the term is absent
            return np.where(tfs > 0, self.surplus(tfs, rows), 0.0)

    def best(self, top: int, room: Room, ids_of: IdsOf, admit: Admit | None) -> LexicalHits:
        """The `top` best rows that `admit` lets pass; it is asked about the best rows first."""
        selection = Selection(self.terms, self, room)
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
