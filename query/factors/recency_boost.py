from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Positive
from recollect.query.portable_math import Elementary


def recency_boost(
    math: Elementary, /, age_days: FloatArray, *, boost: NonNegative = 0.3, tau_days: Positive = 30.0
) -> FloatArray:
    """A lift for what was written lately; the old keep their score.

    1 + boost · exp(−age_days / tau_days)

    Range (1, 1 + boost]. Source: Reverie ADR-006, factor 4 (boost 0.3, τ 30 days; τ is 1/e, not a half-life).
    """
    return 1.0 + boost * math.exp(-age_days / tau_days)
