from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Share


def feedback_factor(
    feedback: FloatArray,
    *,
    praise: NonNegative = 0.15,
    praise_max: NonNegative = 10.0,
    blame: NonNegative = 0.2,
    floor: Share = 0.2,
) -> FloatArray:
    """What people said of a memory: praise lifts it, blame pushes it down to a floor.

    feedback ≥ 0:  1 + min(feedback, praise_max) · praise
    feedback < 0:  max(floor, 1 + feedback · blame)

    Range [0.2, 2.5]. feedback = helpful − unhelpful − 2 · outdated. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 8.
    """
    praised = 1.0 + np.minimum(feedback, praise_max) * praise
    blamed = np.maximum(floor, 1.0 + feedback * blame)
    return np.where(feedback < 0.0, blamed, praised)
