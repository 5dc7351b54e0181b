from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.portable_math import Elementary


def floored_decay(
    math: Elementary,
    /,
    idle_days: FloatArray,
    access_count: FloatArray,
    decay_per_day: FloatArray,
    decay_slowing: FloatArray,
    *,
    floor_accessed: Share = 0.35,
    floor_never_accessed: Share = 0.15,
    slowed_accesses_max: Count = 10,
    slowed_decay_min: NonNegative = 0.002,
) -> FloatArray:
    """Exponential decay since the last access at the pace of the memory's kind, down to a floor.

    max(floor, exp(−λ · idle_days)), exactly 1 for λ = 0
    λ = decay_per_day; where decay_slowing < 1: max(slowed_decay_min, λ · decay_slowing^min(accesses, 10))

    Range [0.15, 1]; the floor is the higher one for what was ever accessed. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 10. `decay_per_day` and `decay_slowing` are columns that a `look-up` wrote.
    """
    values = zip(*(a.tolist() for a in (access_count, decay_per_day, decay_slowing)), strict=True)
    paces = []
    for accesses, pace, slowing in values:
        for _ in range(min(int(accesses), slowed_accesses_max) if slowing < 1.0 else 0):
            pace *= slowing  # noqa: PLW2901 (slower with every access)
        if slowing < 1.0 and accesses > 0.0:
            pace = max(slowed_decay_min, pace)  # noqa: PLW2901
        paces.append(pace)
    left = math.exp(-np.array(paces, dtype=np.float64) * idle_days)
    floor = np.where(access_count > 0.0, floor_accessed, floor_never_accessed)
    return np.where(left > floor, left, floor)
