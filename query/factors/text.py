"""Words and meaning: how well question and memory match."""

from __future__ import annotations

from math import inf

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Share
from recollect.query.factors.factor import factor


@factor((0.0, 1.0))
def similarity(vector: FloatArray) -> FloatArray:
    """The cosine of question and memory, where pointing away is no worse than being unrelated.

    clamp(cosine, 0, 1) = 1 − clamp(distance, 0, 1), with distance = 1 − cosine

    Range [0, 1]; none without vectors. Source: Mnemosyne, Ranking & Scoring ("0.0 (unrelated) to 1.0
    (identical)"); MemorySync, Semantic Ranking, semantic factor.
    """
    return np.clip(vector, 0.0, 1.0)


@factor((0.0, 1.0))
def text_relevance(
    bm25: FloatArray, word_ratio: FloatArray, *, bm25_share: Share = 0.7, word_share: Share = 0.3
) -> FloatArray:
    """How well the words match: BM25 on the scale of the batch, and the share of the question's words.

    bm25_share · bm25 + word_share · word_ratio

    Range [0, 1] for columns in [0, 1]; none where no word matches. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 5.
    """
    return bm25_share * bm25 + word_share * word_ratio


@factor((1.0, inf))
def word_overlap_boost(
    word_overlap: FloatArray,
    feedback: FloatArray,
    *,
    scale: NonNegative = 0.5,
    disliked: Share = 0.5,
    word: float,
) -> FloatArray:
    """A lift by the share of the question's words in text and tags; half of it for what people disliked.

    1 + word_overlap · scale · (disliked if feedback < 0 else 1) · word

    Range [1, 1 + scale · word]; `word` is a dial. Source: OMEGA, RRF Scoring Pipeline Analysis, group 12.
    """
    return 1.0 + word_overlap * scale * np.where(feedback < 0.0, disliked, 1.0) * word


@factor(lambda overlap_min: (overlap_min, 1.0), gives_none=True)
def hot_relevance(hot: FloatArray, word_overlap: FloatArray, *, overlap_min: Share = 0.4) -> FloatArray:
    """The word overlap of the most accessed memories, where it is high enough to be a hit.

    word_overlap   if the channel `hot` found the memory and word_overlap ≥ overlap_min; else none

    Range [0.4, 1]. Source: OMEGA, RRF Scoring Pipeline Analysis, phase 1 and group 20.
    """
    return np.where(np.isnan(hot) | (word_overlap < overlap_min), np.nan, word_overlap)


@factor((1.0, inf))
def contextual_boost(
    context_tags: FloatArray,
    context_project: FloatArray,
    context: FloatArray,
    *,
    per_tag: NonNegative = 0.10,
    project: NonNegative = 0.15,
    per_name: NonNegative = 0.05,
    names_max: NonNegative = 3.0,
    ctx: float,
) -> FloatArray:
    """A lift for what belongs to the work at hand: its tags, its project, the names of its files.

    1 + (context_tags · per_tag + context_project · project + min(context, names_max) · per_name) · ctx

    Range [1, ∞); `ctx` is a dial, `context` a column that `measure` wrote. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 16.
    """
    names = np.minimum(context, names_max)
    return 1.0 + (context_tags * per_tag + context_project * project + names * per_name) * ctx


@factor((-inf, 2.0))
def evidence(
    nearness: FloatArray, covered: FloatArray, doublings: FloatArray, *, per_doubling: NonNegative = 0.025
) -> FloatArray:
    """How much speaks for a memory's having to do with the question at all, by meaning and by words together.

    nearness + covered − per_doubling · doublings

    with the cosine on the model's own scale and the share of the question's idf that the memory holds (`coverage`). The
    best of many is near by chance, so every doubling of the store beyond 64 memories asks for a little more. Below 2;
    none without vectors.
    """
    return nearness + covered - per_doubling * doublings
