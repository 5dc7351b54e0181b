from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative


def priority_factor(
    priority: FloatArray, default_priority: FloatArray, *, base: NonNegative = 0.7, step: NonNegative = 0.08
) -> FloatArray:
    """A memory's priority from 1 to 5, or that of its kind if it was given none.

    base + priority · step

    Range [0.78, 1.10]; priorities outside 1 to 5 count as the nearest. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 9.
    """
    given = np.where(np.isnan(priority), default_priority, priority)
    return base + np.clip(given, 1.0, 5.0) * step
