from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Share


def cluster_boost(
    cluster_cosine: FloatArray,
    *,
    above: Share = 0.5,
    slope: NonNegative = 0.33,
    boost_max: NonNegative = 0.15,
) -> FloatArray:
    """A lift for the members of a cluster whose centroid is near the question.

    1 + min((cosine − above) · slope, boost_max)   if cosine > above; else 1

    Range [1, 1.15]. Source: OMEGA, RRF Scoring Pipeline Analysis, phase 11 and step 7.
    """
    near = cluster_cosine > above
    lift = np.minimum((np.where(near, cluster_cosine, above) - above) * slope, boost_max)
    return 1.0 + lift
