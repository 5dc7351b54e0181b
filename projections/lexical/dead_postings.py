"""Dead postings: the terms of the rows that died, in the order of their deaths.

Reads      the rows that `documents` says have died, and their tokens in the forward index
Invariant  what the first n of the dead hold depends on these n alone

Postings over it say how many of the first n dead rows hold a term. With them a document frequency at any seq is
a difference of two counts, and no list of rows has to be searched for its dead.
"""

from __future__ import annotations

from recollect.projections.columns import Int32Array
from recollect.projections.lexical.forward import ForwardIndex
from recollect.projections.lexical.token_table import TokenTable

_ROWS_AT_ONCE = 4096


class DeadPostings(TokenTable):
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
