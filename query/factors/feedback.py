"""What people said of a memory and of its kind."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.factors.factor import factor


@factor(lambda floor, praise, praise_max, **_: (floor, 1.0 + praise_max * praise))
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


@factor(lambda low, span, **_: (min(low, 1.0), max(low + span, 1.0)))
def thompson_boost(
    kind_helpful: FloatArray,
    kind_unhelpful: FloatArray,
    *,
    trials_min: Count = 5,
    low: NonNegative = 0.8,
    span: NonNegative = 0.4,
) -> FloatArray:
    """How often memories of this kind were judged helpful: the mean of a Beta distribution from Beta(1, 1).

    low + span · α / (α + β)   with α = 1 + helpful, β = 1 + all other verdicts; 1 below trials_min verdicts

    Range (0.8, 1.2). The mean, not a sample: a ranking has no luck. Source: OMEGA, RRF Scoring Pipeline
    Analysis, step 3 (thompson_boost).
    """
    alpha, beta = 1.0 + kind_helpful, 1.0 + kind_unhelpful
    boost = low + span * (alpha / (alpha + beta))
    return np.where(kind_helpful + kind_unhelpful < trials_min, 1.0, boost)
