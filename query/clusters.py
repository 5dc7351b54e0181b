"""How near each candidate's cluster is to the question."""

from __future__ import annotations

import numpy as np

from recollect.events.grid import GridArray, from_bytes, norm2
from recollect.events.grid import cosines as cosines_of
from recollect.projections.columns import FloatArray
from recollect.projections.rounding import round12
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet


def centroid_cosines(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """The cosine of the question and the centroid of the candidate's cluster, in [-1, 1].

    A candidate in no cluster is a cluster of one, whose centroid is its own vector; without a vector, or if
    the question has none, it is NaN. Clusters from before the embedder in force count as none: vectors of two
    embedders never meet.
    """
    if ctx.question.vector is None:
        return np.full(len(sheet), np.nan)
    query, seq, vectors = from_bytes(ctx.question.vector), ctx.view.seq, ctx.view.vectors
    able = vectors.comparable(sheet.rows, at=seq)
    own = np.where(able, vectors.cosines(query, sheet.rows, at=seq), np.nan)
    shared = cluster_cosines(sheet, ctx)
    return np.where(np.isnan(shared), own, shared)


def cluster_cosines(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """The same, but NaN for a candidate in no cluster."""
    cosines, seq = np.full(len(sheet), np.nan), ctx.view.seq
    adopted = ctx.view.adoptions.embedder(seq)
    clustered = ctx.view.graph.clustered(seq)
    if ctx.question.vector is None or clustered <= (0 if adopted is None else adopted.seq):
        return cosines
    query = from_bytes(ctx.question.vector)
    clusters = ctx.view.graph.cluster_of(sheet.memories, seq)
    for cluster, cosine in _cosines(ctx, query, np.unique(clusters[clusters >= 0]).tolist()):
        cosines[clusters == cluster] = cosine
    return cosines


def _cosines(ctx: RankContext, query: GridArray, clusters: list[int]) -> list[tuple[int, float]]:
    """The cosines of the question and these clusters' centroids, where both have a direction in one space."""
    centroids = {cluster: from_bytes(ctx.view.graph.centroid(cluster)) for cluster in clusters}
    able = [n for n, centroid in centroids.items() if len(centroid) == len(query) and centroid.any()]
    if not able:
        return []
    points = np.stack([centroids[cluster] for cluster in able]).astype(np.int64)
    exact = cosines_of(points @ query.astype(np.int64), norm2(query), (points * points).sum(axis=1))
    return [(cluster, round12(cosine)) for cluster, cosine in zip(able, exact.tolist(), strict=True)]
