from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray


def similarity(vector: FloatArray) -> FloatArray:
    """The cosine of question and memory, where pointing away is no worse than being unrelated.

    clamp(cosine, 0, 1) = 1 − clamp(distance, 0, 1), with distance = 1 − cosine

    Range [0, 1]; none without vectors. Source: Mnemosyne, Ranking & Scoring ("0.0 (unrelated) to 1.0
    (identical)"); MemorySync, Semantic Ranking, semantic factor.
    """
    return np.clip(vector, 0.0, 1.0)
