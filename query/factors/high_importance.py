from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Share


def high_importance(importance: FloatArray, *, threshold: Share = 0.8) -> FloatArray:
    """1 for a memory of high importance; any other has no value.

    1 if importance ≥ threshold

    Source: Engram's plan says importance === 'high'; importance here is a number, and the threshold from
    which it counts as high is ours.
    """
    return np.where(importance >= threshold, 1.0, np.nan)
