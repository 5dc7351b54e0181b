from __future__ import annotations

from recollect.projections.columns import FloatArray


def type_weight(type_weight: FloatArray) -> FloatArray:
    """What a memory's kind is worth, from the column that a `look-up` wrote.

    type_weight

    Range 0.05 to 3 in omega's table. Source: OMEGA, RRF Scoring Pipeline Analysis, group 7.
    """
    return type_weight
