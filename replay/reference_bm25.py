"""rank-bm25's own classes, and the two variants it lacks as subclasses of its BM25Okapi."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from recollect.projections.columns import FloatArray
from recollect.projections.lexical.bm25 import Bm25


class _Fts5(BM25Okapi):  # type: ignore[misc]
    """SQLite's bm25(): BM25Okapi with idf floored at 1e-6 term by term."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for word, df in nd.items():
            idf = math.log((self.corpus_size - df + 0.5) / (df + 0.5))
            self.idf[word] = idf if idf > 0 else 1e-6


class _Lucene(BM25Okapi):  # type: ignore[misc]
    """Lucene's BM25: an idf that is never negative, and no (k1 + 1) in the numerator."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for word, df in nd.items():
            self.idf[word] = math.log(1 + (self.corpus_size - df + 0.5) / (df + 0.5))

    def get_scores(self, query: Sequence[str]) -> FloatArray:
        scores: FloatArray = super().get_scores(query) / (self.k1 + 1)
        return scores


def reference_scores(corpus: Sequence[list[str]], query: list[str], bm25: Bm25) -> FloatArray:
    """The score of every document of a corpus, by rank-bm25; it cannot take a corpus without any word."""
    if not corpus or not any(corpus):
        return np.zeros(len(corpus))
    match bm25.family:
        case "fts5":
            model = _Fts5(corpus, k1=bm25.k1, b=bm25.b)
        case "lucene":
            model = _Lucene(corpus, k1=bm25.k1, b=bm25.b)
        case "okapi":
            model = BM25Okapi(corpus, k1=bm25.k1, b=bm25.b, epsilon=bm25.epsilon)
        case "plus":
            model = BM25Plus(corpus, k1=bm25.k1, b=bm25.b, delta=bm25.delta)
        case "l":
            model = BM25L(corpus, k1=bm25.k1, b=bm25.b, delta=bm25.delta)
    return np.asarray(model.get_scores(query), dtype=np.float64)
