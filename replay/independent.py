"""A second opinion: the same formulas over channels that share no code with the engine's.

Words are scored by rank-bm25's classes over the corpus rebuilt from the events, vectors by a plain scan in
64-bit integers. Where the two implementations differ, `reason` says in which channel and how.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np

from recollect.events.facts import Question, Recalled
from recollect.events.grid import GridArray, from_bytes, to_bytes
from recollect.events.log import Log
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.lexical.index import Admit, LexicalHits
from recollect.projections.portable_math import round12
from recollect.projections.vectors.nearest import VectorHits
from recollect.projections.view import Projections, View
from recollect.query.formula import Formula
from recollect.query.ranking import Ranking, rank
from recollect.query.sheet import RankContext, Sheet
from recollect.query.stages.retrieving import Retrieve
from recollect.replay.corpus import Corpus
from recollect.replay.reference_bm25 import reference_scores


class IndependentViews:
    """Views for recalls in the order of their basis; going back starts the corpus again."""

    def __init__(self, log: Log, projections: Projections) -> None:
        self._log = log
        self._projections = projections
        self._corpus = Corpus()

    def rank(self, recalled: Recalled, formula: Formula) -> Ranking:
        return rank(recalled.question, self._view(recalled.basis), formula, finite=False)

    def _view(self, seq: int) -> IndependentView:
        if seq < self._corpus.seq:
            self._corpus = Corpus()
        self._corpus.advance(self._log.read(self._corpus.seq, seq))
        return IndependentView(self._projections, seq, self._log.time_of(seq), self._corpus)

    def reason(self, recalled: Recalled, formula: Formula) -> str:
        """Which channel the two implementations disagree on."""
        ours = self._projections.at(recalled.basis, self._log.time_of(recalled.basis))
        theirs = self._view(recalled.basis)
        for stage in formula.stages:
            if isinstance(stage, Retrieve) and stage.enabled:
                mine = _found(stage, recalled.question, ours)
                other = _found(stage, recalled.question, theirs)
                if mine != other:
                    missed = len(set(other) - set(mine))
                    return (
                        f"the {stage.column} channel differs: {missed} of its {len(other)} candidates are not "
                        f"among ours" + (" (HNSW is approximate)" if stage.channel == "vector" else "")
                    )
        return "the channels agree; a later stage differs"


def _found(stage: Retrieve, question: Question, view: View) -> list[int]:
    sheet = Sheet()
    stage.apply(sheet, RankContext(question, view))
    return [int(row) for row in sheet.rows]


class IndependentView(View):
    """A view whose lexical and vector channels are the plain ones."""

    __slots__ = ("_corpus", "_ids", "_rows")

    def __init__(self, projections: Projections, seq: int, time: int, corpus: Corpus) -> None:
        super().__init__(projections, seq, time)
        self._corpus = corpus
        self._ids = sorted(corpus.alive)
        numbers = np.array([self.documents.ids.find(id_) for id_ in self._ids], dtype=np.int64)
        self._rows = self.documents.rows_of(numbers, seq)

    def lexical(self, analyzer: str) -> PlainLexical:
        return PlainLexical(self._ids, [self._corpus.texts[id_] for id_ in self._ids], self._rows, analyzer)

    @property
    def vectors(self) -> PlainVectors:
        return PlainVectors(self._ids, [self._corpus.vectors[id_] for id_ in self._ids], self._rows)


@lru_cache(maxsize=200_000)
def _tokens(analyzer: str, text: str) -> list[str]:
    return ANALYZERS[analyzer](text)


class PlainLexical:
    """rank-bm25 over the texts of the living memories."""

    def __init__(self, ids: list[str], texts: list[str], rows: Int32Array, analyzer: str) -> None:
        self._ids = ids
        self._rows = rows
        self._analyzer = analyzer
        self._corpus = [_tokens(analyzer, text) for text in texts]

    def search(self, query: str, *, at: int, bm25: Bm25, top: int, admit: Admit | None = None) -> LexicalHits:
        del at  # the corpus is already the one of that seq
        terms = ANALYZERS[self._analyzer](query)
        wanted = set(terms)
        scores = reference_scores(self._corpus, terms, bm25)
        found = [i for i, tokens in enumerate(self._corpus) if wanted.intersection(tokens)]
        return LexicalHits(*_best(self._ids, self._rows, found, scores, top, admit))

    def score_rows(self, query: str, rows: Int32Array, *, at: int, bm25: Bm25) -> FloatArray:
        hits = self.search(query, at=at, bm25=bm25, top=len(self._ids))
        scores = dict(zip(hits.rows.tolist(), hits.scores.tolist(), strict=True))
        return np.array([scores.get(row, 0.0) for row in rows.tolist()])

    def document_frequencies(self, terms: Sequence[str], *, at: int) -> tuple[int, list[int]]:
        del at  # the corpus is already the one of that seq
        texts = [set(tokens) for tokens in self._corpus]
        return len(texts), [sum(term in text for text in texts) for term in terms]

    def term_counts(self, terms: Sequence[str], rows: Int32Array | IntArray) -> tuple[Int32Array, Int32Array]:
        texts = [self.terms_of(row) for row in rows.tolist()]
        counts = [[text.count(term) for text in texts] for term in terms]
        lengths = np.array([len(text) for text in texts], dtype=np.int32)
        return np.array(counts, dtype=np.int32).reshape(len(terms), len(texts)), lengths

    def mean_length(self, *, at: int) -> float:
        del at
        return sum(map(len, self._corpus)) / len(self._corpus) if self._corpus else 0.0

    def terms_of(self, row: int) -> list[str]:
        return self._corpus[int(np.flatnonzero(self._rows == row)[0])]

    def holding(self, rows: Int32Array, groups: Sequence[Sequence[str]]) -> BoolArray:
        texts = [set(self.terms_of(row)) for row in rows.tolist()]
        held = [[not text.isdisjoint(group) for group in groups] for text in texts]
        return np.array(held, dtype=np.bool_).reshape(len(rows), len(groups))

    def first_terms(self, rows: Int32Array) -> list[str | None]:
        return [next(iter(self.terms_of(row)), None) for row in rows.tolist()]


class PlainVectors:
    """A scan over the vectors of the living memories, one by one, in 64-bit integers."""

    def __init__(self, ids: list[str], vectors: list[bytes | None], rows: Int32Array) -> None:
        self._ids = ids
        self._rows = rows
        self._vectors = vectors

    def search(
        self,
        query: GridArray,
        *,
        at: int,
        top: int,
        admit: Admit | None = None,
        without: Collection[str] = (),
    ) -> VectorHits:
        del at, without  # the corpus is already the one of that seq, and there are no shards
        found = [i for i, vector in enumerate(self._vectors) if vector and len(vector) == 2 * len(query)]
        cosines = np.zeros(len(self._ids))
        cosines[found] = [_cosine(query, self._vectors[i]) for i in found]
        rows, best = _best(self._ids, self._rows, found, cosines, top, admit)
        dots = np.array([_dot(query, self._vectors[self._place(row)]) for row in rows.tolist()], np.int64)
        return VectorHits(rows, dots, best, ["scan"] * len(rows))

    def _place(self, row: int) -> int:
        return int(np.flatnonzero(self._rows == row)[0])

    def comparable(self, rows: Int32Array, *, at: int) -> BoolArray:
        del at
        return np.array(
            [self._vectors[self._place(row)] is not None for row in rows.tolist()], dtype=np.bool_
        )

    def cosines(self, query: GridArray, rows: Int32Array, *, at: int) -> FloatArray:
        able = self.comparable(rows, at=at).tolist()
        values = [
            round12(_cosine(query, self._vectors[self._place(row)])) if yes else 0.0
            for row, yes in zip(rows.tolist(), able, strict=True)
        ]
        return np.array(values, dtype=np.float64)

    def cosines_between(self, rows: Int32Array, others: Int32Array) -> FloatArray:
        ours, theirs = ([self._vectors[self._place(row)] for row in some.tolist()] for some in (rows, others))
        return np.array(
            [[0.0 if a is None or b is None else _cosine(from_bytes(a), b) for b in theirs] for a in ours]
        )


def _dot(query: GridArray, vector: bytes | None) -> int:
    assert vector is not None
    return int(np.dot(query.astype(np.int64), from_bytes(vector).astype(np.int64)))


def _cosine(query: GridArray, vector: bytes | None) -> float:
    assert vector is not None
    other = from_bytes(vector)
    return _dot(query, vector) / math.sqrt(_dot(query, to_bytes(query)) * _dot(other, vector))


def _best(
    ids: list[str], rows: Int32Array, found: list[int], scores: FloatArray, top: int, admit: Admit | None
) -> tuple[Int32Array, FloatArray]:
    """The best of those found, by (score rounded to 12 digits, id)."""
    if admit is not None and found:
        admitted = admit(rows[found])
        found = [i for i, yes in zip(found, admitted.tolist(), strict=True) if yes]
    order = sorted((-round12(float(scores[i])), ids[i], i) for i in found)[:top]
    picked = [i for _, _, i in order]
    return rows[picked].astype(np.int32), np.array([-score for score, _, _ in order])
