from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, Positive, Share


def importance_bonus(
    importance: FloatArray, *, threshold: Share = 0.8, k: Positive = 60.0, positions: Count = 10
) -> FloatArray:
    """What a memory of high importance gains: as much as rising some positions to the first.

    1 / (k + 1) − 1 / (k + 1 + positions) if importance ≥ threshold, else 0

    0.00231 at k 60 and 10 positions. Source: Engram's plan, step 2c; the threshold is ours.
    """
    return np.where(importance >= threshold, 1.0 / (k + 1.0) - 1.0 / (k + 1.0 + positions), 0.0)
