"""A view that searches once: two formulas that retrieve alike share what the channels found.

A search is a pure function of its arguments and the view, and one question has one set of hard filters; so for
one question the second search with the same arguments is the first. Most of a ranking's time is spent there.
A word search has one order of all rows, so fewer of them are the first of more: `depth` is how many are looked for
at once. A vector search for fewer rows may be less wide and find others; only its scans are shared, and its walks
through shards where they are equally wide. What admits rows is told apart by its function: the same method of two
rankings' contexts is the same filter.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from recollect.events.grid import GridArray
from recollect.projections.channels import LexicalChannel, VectorChannel
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.lexical.index import Admit, LexicalHits
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.nearest import VectorHits
from recollect.projections.view import Projections, View
from recollect.replay.shared_scans import SharedVectors


class SharedSearch(View):
    """The view of one question, for several formulas."""

    __slots__ = ("_depth", "_lexicals", "_vectors")

    def __init__(self, projections: Projections, seq: int, time: int, *, depth: int = 0) -> None:
        super().__init__(projections, seq, time)
        self._depth = depth
        self._lexicals: dict[str, _Lexical] = {}
        self._vectors = _Vectors(projections.vectors)

    def lexical(self, analyzer: str) -> LexicalChannel:
        if analyzer not in self._lexicals:
            self._lexicals[analyzer] = _Lexical(super().lexical(analyzer), self._depth)
        return self._lexicals[analyzer]

    @property
    def vectors(self) -> VectorChannel:
        return self._vectors


class _Lexical:
    def __init__(self, channel: LexicalChannel, depth: int) -> None:
        self._channel = channel
        self._depth = depth
        self._found: dict[tuple[str, int, Bm25, object], tuple[int, LexicalHits]] = {}

    def search(self, query: str, *, at: int, bm25: Bm25, top: int, admit: Admit | None = None) -> LexicalHits:
        key = (query, at, bm25, _function(admit))
        depth, hits = self._found.get(key, (0, None))
        if hits is None or depth < top:
            depth = max(top, self._depth)
            hits = self._channel.search(query, at=at, bm25=bm25, top=depth, admit=admit)
            self._found[key] = depth, hits
        return LexicalHits(hits.rows[:top], hits.scores[:top])

    def score_rows(self, query: str, rows: Int32Array, *, at: int, bm25: Bm25) -> FloatArray:
        return self._channel.score_rows(query, rows, at=at, bm25=bm25)

    def document_frequencies(self, terms: Sequence[str], *, at: int) -> tuple[int, list[int]]:
        return self._channel.document_frequencies(terms, at=at)

    def term_counts(self, terms: Sequence[str], rows: Int32Array | IntArray) -> tuple[Int32Array, Int32Array]:
        return self._channel.term_counts(terms, rows)

    def mean_length(self, *, at: int) -> float:
        return self._channel.mean_length(at=at)

    def terms_of(self, row: int) -> list[str]:
        return self._channel.terms_of(row)

    def first_terms(self, rows: Int32Array) -> list[str | None]:
        return self._channel.first_terms(rows)

    def holding(self, rows: Int32Array, groups: Sequence[Sequence[str]]) -> BoolArray:
        return self._channel.holding(rows, groups)


class _Vectors(SharedVectors):
    def __init__(self, vectors: Vectors) -> None:
        super().__init__(vectors)
        self._found: dict[tuple[bytes, int, int, object, frozenset[str]], VectorHits] = {}

    def search(
        self,
        query: GridArray,
        *,
        at: int,
        top: int,
        admit: Admit | None = None,
        without: Collection[str] = (),
    ) -> VectorHits:
        key = (query.tobytes(), at, top, _function(admit), frozenset(without))
        if key not in self._found:
            self._found[key] = super().search(query, at=at, top=top, admit=admit, without=without)
        return self._found[key]


def _function(admit: Admit | None) -> object:
    return getattr(admit, "__func__", admit)
