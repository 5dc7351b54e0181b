"""What a ranking asks of its word and vector channels; the engine implements them, and so does independent verification."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from recollect.events.grid import GridArray
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.lexical.index import Admit, LexicalHits
from recollect.projections.vectors.nearest import VectorHits


class LexicalChannel(Protocol):
    def search(
        self, query: str, *, at: int, bm25: Bm25, top: int, admit: Admit | None = None
    ) -> LexicalHits: ...

    def score_rows(self, query: str, rows: Int32Array, *, at: int, bm25: Bm25) -> FloatArray: ...

    def document_frequencies(self, terms: Sequence[str], *, at: int) -> tuple[int, list[int]]: ...

    def term_counts(
        self, terms: Sequence[str], rows: Int32Array | IntArray
    ) -> tuple[Int32Array, Int32Array]: ...

    def mean_length(self, *, at: int) -> float: ...

    def terms_of(self, row: int) -> list[str]: ...

    def first_terms(self, rows: Int32Array) -> list[str | None]: ...

    def holding(self, rows: Int32Array, groups: Sequence[Sequence[str]]) -> BoolArray: ...


class VectorChannel(Protocol):
    def search(
        self,
        query: GridArray,
        *,
        at: int,
        top: int,
        admit: Admit | None = None,
        without: Collection[str] = (),
    ) -> VectorHits: ...

    def cosines(self, query: GridArray, rows: Int32Array, *, at: int) -> FloatArray: ...

    def comparable(self, rows: Int32Array, *, at: int) -> BoolArray: ...

    def cosines_between(self, rows: Int32Array, others: Int32Array) -> FloatArray: ...
