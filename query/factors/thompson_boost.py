from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative


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
