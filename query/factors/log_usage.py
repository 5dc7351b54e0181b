from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Positive
from recollect.query.portable_math import Elementary


def log_usage(math: Elementary, /, access_count: FloatArray, *, scale: Positive = 5.0) -> FloatArray:
    """How often a memory was used, on a log scale: a thousand times does not drown out five.

    min(1, ln(1 + access_count) / scale)

    Range [0, 1]; 1 from 148 accesses on at scale 5. Source: MemorySync, Semantic Ranking, usage factor.
    """
    return np.minimum(1.0, math.log(1.0 + access_count) / scale)
