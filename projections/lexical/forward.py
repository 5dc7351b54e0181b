"""The forward index: the terms of every row, in the order of its text.

State      the vocabulary (terms 0, 1, 2, … by first appearance), the term numbers of all rows end to end
           (`tokens`), and where each row begins in them (`offsets`, one more than there are rows)
Invariant  rows only ever join at the end; a row that repeats another's text repeats its numbers

Folding must be cheap, so numbers first gather in a plain list; `settle` moves them into the arrays, and
readers of the arrays call it before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recollect.projections.columns import (
    BoolArray,
    Column,
    Int32Array,
    IntArray,
    Saved,
    State,
    dump_strings,
    load_strings,
)
from recollect.projections.lexical.analyzers import Analyzer


class TokenTable:
    """Rows of tokens end to end, and where each begins: what the forward index and the dead postings have in common."""

    def __init__(self) -> None:
        self._tokens: Column[np.int32] = Column(np.int32)
        self._offsets: Column[np.int64] = Column(np.int64)
        self._offsets.append(0)
        self._lengths: Column[np.int32] = Column(np.int32)

    def _extend(self, tokens: Int32Array, lengths: Int32Array | IntArray) -> None:
        """Rows of these lengths, whose tokens follow one another."""
        self._offsets.extend(self._offsets.array[-1] + np.cumsum(lengths, dtype=np.int64))
        self._lengths.extend(lengths)
        self._tokens.extend(tokens)

    @property
    def tokens(self) -> Int32Array:
        return self._tokens.array

    @property
    def offsets(self) -> IntArray:
        """Where each row begins; also the total length of all rows before it."""
        return self._offsets.array

    @property
    def lengths(self) -> Int32Array:
        return self._lengths.array


class Vocabulary(dict[str, int]):
    """Terms numbered on first look-up by `[]`; `get` never numbers one."""

    def __init__(self, terms: list[str]) -> None:
        super().__init__(zip(terms, range(len(terms)), strict=True))
        self.terms = terms

    def __missing__(self, term: str) -> int:
        self[term] = number = len(self.terms)
        self.terms.append(term)
        return number


class ForwardIndex(TokenTable):
    def __init__(self, analyze: Analyzer) -> None:
        super().__init__()
        self.analyze = analyze
        self.rows = 0
        self.size = 0
        self._loose_tokens: list[int] = []
        self._loose_lengths: list[int] = []
        self._place_of: Int32Array = np.zeros(0, dtype=np.int32)
        self._counted: tuple[tuple[bytes, tuple[int, ...]], Int32Array] | None = None
        self._adopt(Vocabulary([]))

    def _adopt(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._number = vocabulary.__getitem__

    # --- folding ---------------------------------------------------------------------------------

    def add(self, text: str) -> None:
        terms = self.analyze(text)
        self._loose_tokens.extend(map(self._number, terms))
        self._end_row(len(terms))

    def add_many(self, texts: list[str]) -> None:
        """As many rows, without a step in between."""
        analyze, number, tokens = self.analyze, self._number, self._loose_tokens
        before = len(tokens)
        for text in texts:
            terms = analyze(text)
            tokens.extend(map(number, terms))
            self._loose_lengths.append(len(terms))
        self.size += len(tokens) - before
        self.rows += len(texts)

    def copy(self, row: int) -> None:
        """A new row with the terms of an old one; -1 copies nothing."""
        if row >= len(self._lengths):
            self.settle()
        tokens = self.tokens_of(row).tolist() if row >= 0 else []
        self._loose_tokens.extend(tokens)
        self._end_row(len(tokens))

    def _end_row(self, length: int) -> None:
        self._loose_lengths.append(length)
        self.size += length
        self.rows += 1

    def settle(self) -> None:
        """Move what gathered in the lists into the arrays."""
        if not self._loose_lengths:
            return
        self._extend(
            np.array(self._loose_tokens, dtype=np.int32), np.array(self._loose_lengths, dtype=np.int32)
        )
        self._loose_tokens.clear()
        self._loose_lengths.clear()

    # --- reading ---------------------------------------------------------------------------------

    def tokens_of(self, row: int) -> Int32Array:
        return self.tokens[self._offsets[row] : self._offsets[row + 1]]

    def tokens_of_many(self, rows: Int32Array | IntArray) -> Int32Array:
        """The tokens of these rows, end to end."""
        lengths = self._lengths.array[rows].astype(np.int64)
        ends = np.cumsum(lengths)
        shifts = np.repeat(self._offsets.array[rows] - (ends - lengths), lengths)
        return self._tokens.array[shifts + np.arange(len(shifts))]

    def holding(self, rows: Int32Array, groups: Sequence[Sequence[str]]) -> BoolArray:
        """Per row and group of terms: whether the row holds a term of the group."""
        numbered = sorted(
            (self.vocabulary[term], group)
            for group, terms in enumerate(groups)
            for term in terms
            if term in self.vocabulary
        )
        held = np.zeros((len(rows), len(groups)), dtype=np.bool_)
        if numbered and len(rows):
            numbers, group_of = np.array(numbered, dtype=np.int64).T
            tokens = self.tokens_of_many(rows)
            places = np.minimum(np.searchsorted(numbers, tokens), len(numbers) - 1)
            matching = np.flatnonzero(numbers[places] == tokens)
            row_of = np.repeat(np.arange(len(rows)), self.lengths[rows])
            held[row_of[matching], group_of[places[matching]]] = True
        return held

    def frequencies(self, rows: IntArray, terms: list[int]) -> Int32Array:
        """How often each term occurs in each row: one line per term, one column per row.

        The last table is kept, for the stages of one formula ask for the same one; do not write to it.
        """
        key = rows.tobytes(), tuple(terms)
        if self._counted is not None and self._counted[0] == key:
            return self._counted[1]
        if len(self._place_of) < len(self.vocabulary.terms):
            self._place_of = np.zeros(len(self.vocabulary.terms) * 5 // 4, dtype=np.int32)
        known = [term for term in terms if term >= 0]
        self._place_of[known] = np.arange(1, len(known) + 1)
        places = self._place_of.take(self.tokens_of_many(rows))
        self._place_of[known] = 0
        hits = np.flatnonzero(places)
        row_of = np.repeat(np.arange(len(rows)), self.lengths[rows])
        cells = (places.take(hits) - 1) * len(rows) + row_of.take(hits)
        counts = np.bincount(cells, minlength=len(known) * len(rows)).reshape(len(known), len(rows))
        found = np.zeros((len(terms), len(rows)), dtype=np.int32)
        found[[place for place, term in enumerate(terms) if term >= 0]] = counts
        self._counted = key, found
        return found

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        self.settle()
        return {"terms": dump_strings(self.vocabulary.terms), "tokens": self.tokens, "offsets": self.offsets}

    def load(self, state: Saved) -> None:
        self._adopt(Vocabulary(load_strings(state["terms"])))
        self._tokens.load(state["tokens"])
        self._offsets.load(state["offsets"])
        self._lengths.load(np.diff(self.offsets).astype(np.int32))
        self.rows, self.size = len(self.lengths), len(self.tokens)
        self._loose_tokens.clear()
        self._loose_lengths.clear()
        self._counted = None


_ROWS_AT_ONCE = 4096


class DeadPostings(TokenTable):
    """Dead postings: the terms of the rows that died, in the order of their deaths.

    Reads      the rows that `documents` says have died, and their tokens in the forward index
    Invariant  what the first n of the dead hold depends on these n alone

    Postings over it say how many of the first n dead rows hold a term. With them a document frequency at any seq is
    a difference of two counts, and no list of rows has to be searched for its dead.
    """

    def __init__(self, forward: ForwardIndex) -> None:
        super().__init__()
        self._forward = forward

    def bury(self, rows: Int32Array) -> None:
        """Rows that died, one after the other; the forward index is settled."""
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            self._extend(self._forward.tokens_of_many(some), self._forward.lengths[some])

    @property
    def rows(self) -> int:
        return len(self._lengths)

    @property
    def size(self) -> int:
        return len(self._tokens)

    def settle(self) -> None:
        """Nothing is ever loose here."""
