from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Positive
from recollect.query.portable_math import Elementary


def recency_share(
    math: Elementary,
    /,
    age_hours: FloatArray,
    *,
    base: NonNegative = 0.7,
    boost: NonNegative = 0.3,
    tau_hours: Positive = 168.0,
) -> FloatArray:
    """What age leaves of a score: all of it when new, the base when old.

    base + boost · exp(−age_hours / tau_hours)

    Range (base, base + boost]. Source: Mnemosyne, Ranking & Scoring, recency decay; τ = 168 h from its code,
    which calls it a half-life although exp(−t/τ) falls to 1/e.
    """
    return base + boost * math.exp(-age_hours / tau_hours)
