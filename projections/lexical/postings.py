"""Postings: for every term the rows that hold it, in row order, with how often.

State      blocks of consecutive rows, each sorted by term and immutable; behind them the tail, the rows that
           are in no block yet and are read from the forward index
Invariant  every row is in exactly one block or in the tail; no answer depends on which

A tail that has grown to `block_tokens` becomes a block of level 0, and `fanout` neighbours of one level
merge into one of the next: a query meets few blocks. The topmost level stays unmerged, so that no merge
holds up its caller for longer than some hundredths of a second. Reading sorts the tail as well, each time it has
grown by `_LOOSE_TOKENS`, and looks through the rest of it token by token.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import BoolArray, Int32Array, IntArray, Saved, State
from recollect.projections.lexical.forward import DeadPostings, ForwardIndex

BLOCK_TOKENS = 1 << 15
FANOUT = 8
LEVEL_MAX = 2
_LOOSE_TOKENS = 1 << 12


TokenRows = ForwardIndex | DeadPostings


class Counts(NamedTuple):
    """Occurrences of terms in rows, sorted by term and then by row."""

    terms: Int32Array
    rows: Int32Array
    tfs: Int32Array


class TermPostings(NamedTuple):
    """The rows that hold one term, ascending, and the term's frequency in each."""

    rows: Int32Array
    tfs: Int32Array


class PostingList:
    """The postings of one term in pieces that follow one another, as they lie in the blocks."""

    def __init__(self, pieces: list[TermPostings]) -> None:
        self.pieces = pieces

    @property
    def count(self) -> int:
        return sum(len(piece.rows) for piece in self.pieces)

    def joined(self) -> TermPostings:
        if len(self.pieces) == 1:
            return self.pieces[0]
        rows = _chain([piece.rows for piece in self.pieces], np.int32)
        return TermPostings(rows, _chain([piece.tfs for piece in self.pieces], np.int32))

    def before(self, rows_end: int) -> PostingList:
        """Those of the rows 0 … rows_end - 1; only the last piece may reach beyond."""
        if not self.pieces or self.pieces[-1].rows[-1] < rows_end:
            return self
        rows, tfs = self.pieces[-1]
        end = rows.searchsorted(np.int32(rows_end))
        last = [TermPostings(rows[:end], tfs[:end])] if end else []
        return PostingList([*self.pieces[:-1], *last])


class Block(NamedTuple):
    """Postings of the rows [first_row, end_row): those of terms[i] are rows[offsets[i]:offsets[i + 1]]."""

    level: int
    first_row: int
    end_row: int
    terms: Int32Array
    offsets: IntArray
    rows: Int32Array
    tfs: Int32Array


def count_terms(tokens: Int32Array, rows: Int32Array) -> Counts:
    """Group the occurrences tokens[i] in rows[i], given in row order."""
    # numpy sorts 16-bit keys stably by radix, and two passes over halves beat one sort of the whole.
    order = np.argsort(tokens.astype(np.uint16), kind="stable")
    if len(tokens) and int(tokens.max()) >> 16:
        order = order[np.argsort((tokens[order] >> 16).astype(np.uint16), kind="stable")]
    tokens, rows = tokens[order], rows[order]
    starts = _run_starts((tokens[1:] != tokens[:-1]) | (rows[1:] != rows[:-1]), len(tokens))
    return Counts(tokens[starts], rows[starts], _run_lengths(starts, len(tokens)))


def _run_starts(changes: BoolArray, size: int) -> IntArray:
    """Where runs begin in `size` values, given which value differs from the one before it."""
    starts = np.flatnonzero(changes) + 1
    return np.concatenate((np.zeros(1 if size else 0, dtype=np.int64), starts))


def _run_lengths(starts: IntArray, size: int) -> Int32Array:
    lengths = np.empty(len(starts), dtype=np.int32)
    lengths[:-1] = starts[1:] - starts[:-1]
    lengths[-1:] = size - starts[-1:]
    return lengths


def make_block(forward: TokenRows, first_row: int, end_row: int) -> Block:
    """A block of level 0 out of the forward index."""
    tokens = forward.tokens[forward.offsets[first_row] : forward.offsets[end_row]]
    rows = np.arange(first_row, end_row, dtype=np.int32).repeat(forward.lengths[first_row:end_row])
    counts = count_terms(tokens, rows)
    starts = _run_starts(counts.terms[1:] != counts.terms[:-1], len(counts.terms))
    ends = np.append(starts, len(counts.terms))
    return Block(0, first_row, end_row, counts.terms[starts], ends, counts.rows, counts.tfs)


def merge(blocks: list[Block]) -> Block:
    """One block of the next level out of neighbours; within a term their rows just follow one another."""
    terms = np.concatenate([block.terms for block in blocks])
    order = np.argsort(terms, kind="stable")
    bases = [0, *accumulate(len(block.rows) for block in blocks)]
    begins = np.concatenate([block.offsets[:-1] + base for block, base in zip(blocks, bases, strict=False)])
    lengths = np.concatenate([np.diff(block.offsets) for block in blocks])[order]
    ends = np.cumsum(lengths)
    source = np.repeat(begins[order] - (ends - lengths), lengths) + np.arange(bases[-1])
    terms = terms[order]
    starts = _run_starts(terms[1:] != terms[:-1], len(terms))
    offsets = np.append((ends - lengths)[starts], bases[-1])
    rows = np.concatenate([block.rows for block in blocks])[source]
    tfs = np.concatenate([block.tfs for block in blocks])[source]
    return Block(
        blocks[0].level + 1, blocks[0].first_row, blocks[-1].end_row, terms[starts], offsets, rows, tfs
    )


class Postings:
    def __init__(self, forward: TokenRows, *, block_tokens: int = BLOCK_TOKENS, fanout: int = FANOUT) -> None:
        self._forward = forward
        self._block_tokens = block_tokens
        self._fanout = fanout
        self._blocks: list[Block] = []
        self._in_blocks = 0
        self._tail: Block | None = None
        self.full_at = block_tokens

    def absorb(self) -> None:
        """Make the tail a block; worth calling once the forward index has reached `full_at` tokens."""
        self._forward.settle()
        self._push(make_block(self._forward, self._in_blocks, self._forward.rows))

    def _push(self, block: Block) -> None:
        self._blocks.append(block)
        while len(self._blocks) >= self._fanout:
            youngest = self._blocks[-self._fanout :]
            if youngest[0].level != youngest[-1].level or youngest[0].level == LEVEL_MAX:
                break
            self._blocks[-self._fanout :] = [merge(youngest)]
        self._in_blocks = block.end_row
        self._tail = None
        self.full_at = self._forward.size + self._block_tokens

    # --- reading ---------------------------------------------------------------------------------

    def of(self, terms: list[int], rows_end: int) -> list[TermPostings]:
        """The postings of each term among the rows 0 … rows_end - 1."""
        return [found.joined() for found in self.lists(terms, rows_end)]

    def lists(self, terms: list[int], rows_end: int) -> list[PostingList]:
        """The same without copying."""
        self._forward.settle()
        wanted = np.array(terms, dtype=np.int32)
        found: list[list[TermPostings]] = [[] for _ in terms]
        for block in [*self._blocks, *self._sorted_tail()]:
            if block.first_row < rows_end:
                _find_in_block(block, wanted, found)
        loose = self._tail.end_row if self._tail else self._in_blocks
        if loose < min(rows_end, self._forward.rows):
            self._find_in_rows(loose, terms, found)
        return [PostingList(pieces).before(rows_end) for pieces in found]

    def _sorted_tail(self) -> list[Block]:
        """The tail as a block, without the few rows added since it was sorted."""
        sorted_to = self._tail.end_row if self._tail else self._in_blocks
        if self._forward.size - int(self._forward.offsets[sorted_to]) >= _LOOSE_TOKENS:
            self._tail = make_block(self._forward, self._in_blocks, self._forward.rows)
        return [self._tail] if self._tail else []

    def _find_in_rows(self, first_row: int, terms: list[int], found: list[list[TermPostings]]) -> None:
        tokens = self._forward.tokens[self._forward.offsets[first_row] :]
        rows_of = np.arange(first_row, self._forward.rows, dtype=np.int32).repeat(
            self._forward.lengths[first_row:]
        )
        for pieces, term in zip(found, terms, strict=True):
            rows = rows_of.take(np.flatnonzero(tokens == term))
            if len(rows):
                starts = _run_starts(rows[1:] != rows[:-1], len(rows))
                pieces.append(TermPostings(rows[starts], _run_lengths(starts, len(rows))))

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        layout = [(b.level, b.first_row, b.end_row, len(b.terms), len(b.rows)) for b in self._blocks]
        return {
            "blocks": np.array(layout, dtype=np.int64).reshape(-1, 5),
            "block_terms": _chain([block.terms for block in self._blocks], np.int32),
            "block_offsets": _chain([block.offsets for block in self._blocks], np.int64),
            "block_rows": _chain([block.rows for block in self._blocks], np.int32),
            "block_tfs": _chain([block.tfs for block in self._blocks], np.int32),
        }

    def load(self, state: Saved) -> None:
        """After the forward index was loaded. The arrays are only read, never written."""
        terms, offsets = state["block_terms"], state["block_offsets"]
        rows, tfs = state["block_rows"], state["block_tfs"]
        self._blocks, term, posting = [], 0, 0
        for index, (level, first, end, terms_n, postings_n) in enumerate(state["blocks"].tolist()):
            block_offsets = offsets[term + index : term + index + terms_n + 1]
            block_rows, block_tfs = rows[posting : posting + postings_n], tfs[posting : posting + postings_n]
            block_terms = terms[term : term + terms_n]
            self._blocks.append(Block(level, first, end, block_terms, block_offsets, block_rows, block_tfs))
            term, posting = term + terms_n, posting + postings_n
        self._in_blocks = self._blocks[-1].end_row if self._blocks else 0
        self._tail = None
        self.full_at = int(self._forward.offsets[self._in_blocks]) + self._block_tokens


def _find_in_block(block: Block, terms: Int32Array, found: list[list[TermPostings]]) -> None:
    places = block.terms.searchsorted(terms)
    held = np.flatnonzero(block.terms.take(places, mode="clip") == terms) if len(block.terms) else ()
    for term in map(int, held):
        begin, end = block.offsets[places[term]], block.offsets[places[term] + 1]
        found[term].append(TermPostings(block.rows[begin:end], block.tfs[begin:end]))


def _chain(arrays: list[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)
