"""Rows of tokens end to end, and where each begins: what the forward index and the dead postings have in common."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import Column, Int32Array, IntArray


class TokenTable:
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
