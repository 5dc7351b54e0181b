from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Positive
from recollect.query.portable_math import Elementary


def half_life_recency(
    math: Elementary, /, age_hours: FloatArray, *, half_life_hours: Positive = 720.0
) -> FloatArray:
    """Recency by a true half-life since creation: 1 when new, 1/2 after one half-life.

    exp(−age_hours · ln 2 / half_life_hours)

    Range (0, 1]. Source: Engram's scoring before RRF (recollection-writer.ts), 30 days.
    """
    return math.exp(-age_hours * math.ln2 / half_life_hours)
