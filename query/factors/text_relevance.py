from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Share


def text_relevance(
    bm25: FloatArray, word_ratio: FloatArray, *, bm25_share: Share = 0.7, word_share: Share = 0.3
) -> FloatArray:
    """How well the words match: BM25 on the scale of the batch, and the share of the question's words.

    bm25_share · bm25 + word_share · word_ratio

    Range [0, 1] for columns in [0, 1]; none where no word matches. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 5.
    """
    return bm25_share * bm25 + word_share * word_ratio
