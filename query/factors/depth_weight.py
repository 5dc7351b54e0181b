from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative


def depth_weight(
    depth_score: FloatArray,
    *,
    episodic: NonNegative = 0.8,
    intermediate: NonNegative = 1.0,
    semantic: NonNegative = 1.2,
) -> FloatArray:
    """What systems consolidation is worth: depth 1 episodic, 2 intermediate, 3 semantic.

    (episodic, intermediate, semantic)[depth_score − 1]

    Range [min(episodic, intermediate, semantic), max(episodic, intermediate, semantic)].

    Source: Reverie ADR-006, factor 6; the weights 0.8 / 1.0 / 1.2 from its changelog 0.4.1.
    """
    weights = np.array([episodic, intermediate, semantic])
    return weights[np.clip(depth_score.astype(np.int64), 1, 3) - 1]
