from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative


def contextual_boost(
    context_tags: FloatArray,
    context_project: FloatArray,
    context: FloatArray,
    *,
    per_tag: NonNegative = 0.10,
    project: NonNegative = 0.15,
    per_name: NonNegative = 0.05,
    names_max: NonNegative = 3.0,
    ctx: float,
) -> FloatArray:
    """A lift for what belongs to the work at hand: its tags, its project, the names of its files.

    1 + (context_tags · per_tag + context_project · project + min(context, names_max) · per_name) · ctx

    Range [1, ∞); `ctx` is a dial, `context` a column that `measure` wrote. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 16.
    """
    names = np.minimum(context, names_max)
    return 1.0 + (context_tags * per_tag + context_project * project + names * per_name) * ctx
