"""How near each candidate's cluster is to the question."""

from __future__ import annotations

import numpy as np

from recollect.events.grid import GridArray, cosine_of, from_bytes
from recollect.projections.columns import FloatArray
from recollect.projections.rounding import round12
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet


def centroid_cosines(sheet: Sheet, scene: Scene) -> FloatArray:
    """The cosine of the question and the centroid of the candidate's cluster, in [-1, 1].

    A candidate in no cluster is a cluster of one, whose centroid is its own vector; without a vector, or if
    the question has none, it is NaN. Clusters from before the embedder in force count as none: vectors of two
    embedders never meet.
    """
    if scene.question.vector is None:
        return np.full(len(sheet), np.nan)
    query, seq, vectors = from_bytes(scene.question.vector), scene.view.seq, scene.view.vectors
    able = vectors.comparable(sheet.rows, at=seq)
    cosines = np.where(able, vectors.cosines(query, sheet.rows, at=seq), np.nan)
    adopted = scene.view.engine.embedder(seq)
    if scene.view.graph.clustered(seq) <= (0 if adopted is None else adopted.seq):
        return cosines
    clusters = scene.view.graph.cluster_of(sheet.memories, seq)
    for cluster in np.unique(clusters[clusters >= 0]).tolist():
        centroid = from_bytes(scene.view.graph.centroid(cluster))
        if _comparable(query, centroid):
            cosines[clusters == cluster] = round12(cosine_of(query, centroid))
    return cosines


def _comparable(query: GridArray, centroid: GridArray) -> bool:
    return len(query) == len(centroid) and bool(centroid.any())
