from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray


def preference_boost(is_preference: FloatArray, *, preference: float) -> FloatArray:
    """A lift for preferences when the question asks for one.

    preference   if is_preference > 0; else 1

    `preference` is a dial (1.5 for such a question, else 1); `is_preference` a column that a `look-up` wrote.
    Source: OMEGA, RRF Scoring Pipeline Analysis, group 13.
    """
    return np.where(is_preference > 0.0, preference, 1.0)
