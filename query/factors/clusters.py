"""Clusters and edges: what a memory is connected to."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Positive, Share
from recollect.query.factors.factor import Elementary, factor


@factor((0.0, 1.0))
def cluster_similarity(centroid_cosine: FloatArray) -> FloatArray:
    """How near the question is to the centroid of the memory's cluster, mapped from [−1, 1].

    (centroid_cosine + 1) / 2

    Range [0, 1]; none without vectors. Source: MemorySync, Semantic Ranking, cluster factor.
    """
    return (centroid_cosine + 1.0) / 2.0


@factor(lambda boost_max, **_: (1.0, 1.0 + boost_max))
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


@factor((0.0, 1.0))
def log_degree(math: Elementary, /, degree: FloatArray, *, scale: Positive = 5.0) -> FloatArray:
    """How well a memory is connected: its edges on the same log scale as usage.

    min(1, ln(1 + degree) / scale)

    Range [0, 1]. MemorySync names a graph factor of weight 0 without its expression; this one is ours.
    """
    return np.minimum(1.0, math.log(1.0 + degree) / scale)


@factor(lambda step, quality_max: (1.0, 1.0 + quality_max * step))
def consolidation_quality(
    derived_from: FloatArray, *, step: NonNegative = 0.1, quality_max: NonNegative = 3.0
) -> FloatArray:
    """A lift for knowledge that was distilled from other memories.

    1 + min(quality, quality_max) · step

    Range [1, 1.3]. Source: OMEGA, RRF Scoring Pipeline Analysis, group 11. Its quality is a number that its
    compaction writes; here it is the number of `derived_from` edges that leave the memory, which is ours.
    """
    return 1.0 + np.minimum(derived_from, quality_max) * step
