from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative


def consolidation_quality(
    derived_from: FloatArray, *, step: NonNegative = 0.1, quality_max: NonNegative = 3.0
) -> FloatArray:
    """A lift for knowledge that was distilled from other memories.

    1 + min(quality, quality_max) · step

    Range [1, 1.3]. Source: OMEGA, RRF Scoring Pipeline Analysis, group 11. Its quality is a number that its
    compaction writes; here it is the number of `derived_from` edges that leave the memory, which is ours.
    """
    return 1.0 + np.minimum(derived_from, quality_max) * step
