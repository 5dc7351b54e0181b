from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Share


def hot_relevance(hot: FloatArray, word_overlap: FloatArray, *, overlap_min: Share = 0.4) -> FloatArray:
    """The word overlap of the most accessed memories, where it is high enough to be a hit.

    word_overlap   if the channel `hot` found the memory and word_overlap ≥ overlap_min; else none

    Range [0.4, 1]. Source: OMEGA, RRF Scoring Pipeline Analysis, phase 1 and group 20.
    """
    return np.where(np.isnan(hot) | (word_overlap < overlap_min), np.nan, word_overlap)
