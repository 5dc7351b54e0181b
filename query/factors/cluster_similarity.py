from __future__ import annotations

from recollect.projections.columns import FloatArray


def cluster_similarity(centroid_cosine: FloatArray) -> FloatArray:
    """How near the question is to the centroid of the memory's cluster, mapped from [−1, 1].

    (centroid_cosine + 1) / 2

    Range [0, 1]; none without vectors. Source: MemorySync, Semantic Ranking, cluster factor.
    """
    return (centroid_cosine + 1.0) / 2.0
