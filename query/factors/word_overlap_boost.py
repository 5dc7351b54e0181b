from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Share


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
