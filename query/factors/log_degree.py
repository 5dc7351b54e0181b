from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Positive
from recollect.query.portable_math import Elementary


def log_degree(math: Elementary, /, degree: FloatArray, *, scale: Positive = 5.0) -> FloatArray:
    """How well a memory is connected: its edges on the same log scale as usage.

    min(1, ln(1 + degree) / scale)

    Range [0, 1]. MemorySync names a graph factor of weight 0 without its expression; this one is ours.
    """
    return np.minimum(1.0, math.log(1.0 + degree) / scale)
