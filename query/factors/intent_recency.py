from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.portable_math import Elementary


def intent_recency(math: Elementary, /, age_hours: FloatArray, *, half_life_hours: float) -> FloatArray:
    """Recency by a half-life that depends on what the question is after (the dial `half_life_hours`).

    exp(−age_hours · ln 2 / half_life_hours)

    Range (0, 1]. Source: MemorySync, Semantic Ranking, recency factor: 24, 72 or 168 hours.
    """
    return math.exp(-age_hours * math.ln2 / half_life_hours)
