"""Document frequencies of the whole vocabulary as of a position, for what averages over all terms.

State      df per term after the first `born` births and the first `died` deaths
Invariant  the counts depend on that pair alone, not on the way there

Moving to another position counts the rows in between, forwards or backwards: next to nothing for questions
in log order, a pass over the log's texts at worst.
"""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import Int32Array, IntArray
from recollect.projections.lexical.forward import ForwardIndex
from recollect.projections.lexical.postings import count_terms

_ROWS_AT_ONCE = 4096


class DocumentFrequencies:
    def __init__(self, forward: ForwardIndex) -> None:
        self._forward = forward
        self._dfs: IntArray = np.zeros(0, dtype=np.int64)
        self._born = 0
        self._died = 0

    def counts_at(self, born: int, died: int, death_rows: Int32Array) -> dict[int, int]:
        """How many terms have each df >= 1 after so many births and so many of the deaths in `death_rows`."""
        self._move(born, died, death_rows)
        counts = np.bincount(self._dfs[self._dfs > 0])
        dfs = np.flatnonzero(counts)
        return dict(zip(dfs.tolist(), counts[dfs].tolist(), strict=True))

    def _move(self, born: int, died: int, death_rows: Int32Array) -> None:
        self._forward.settle()
        self._dfs = np.pad(self._dfs, (0, len(self._forward.vocabulary) - len(self._dfs)))
        births = np.arange(min(born, self._born), max(born, self._born), dtype=np.int32)
        self._count(births, 1 if born > self._born else -1)
        deaths = death_rows[min(died, self._died) : max(died, self._died)]
        self._count(deaths, -1 if died > self._died else 1)
        self._born, self._died = born, died

    def _count(self, rows: Int32Array, sign: int) -> None:
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            places = np.repeat(np.arange(len(some), dtype=np.int32), self._forward.lengths[some])
            counts = count_terms(self._forward.tokens_of_many(some), places)
            self._dfs += sign * np.bincount(counts.terms, minlength=len(self._dfs))
