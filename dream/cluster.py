"""Cluster: memories whose embeddings lie together, with the centroid of each group.

    k = ⌈√(n / 2)⌉, at most `clusters_max`; spherical k-means over the living memories (`spherical_kmeans`)

A whole new assignment is written when there is none, or once a tenth of the memories with a vector is not in the
one in force; else the old one stands. It only looks at vectors of the embedder in force. The numbers are ours.
"""

from __future__ import annotations

import math

import numpy as np

from recollect.dream.phase import EVERY_MEMORY, Change, Outcome, PhaseInput
from recollect.dream.spherical_kmeans import METHOD, Partition, partition
from recollect.events.facts import Cluster, Clustered
from recollect.events.grid import to_bytes
from recollect.projections.columns import IntArray


def clusters_of(memories: int, clusters_max: int) -> int:
    """How many clusters so many memories make: ⌈√(n / 2)⌉."""
    return min(clusters_max, math.ceil(math.sqrt(memories / 2)))


def cluster(given: PhaseInput) -> Outcome:
    view, settings = given.view, given.settings.cluster
    found = view.projections.vectors.shard_rows(0, view.documents.rows_born(view.seq), view.seq)
    memories = view.documents.memory_of[found.rows].astype(np.int64)
    if len(memories) < settings.memories_min:
        return Outcome((), len(memories), ())
    missing = int(np.count_nonzero(view.graph.clusters.of(memories, view.seq) < 0))
    if view.graph.clusters.assigned(view.seq) and missing < settings.changed_share * len(memories):
        return Outcome((), len(memories), ())
    groups = partition(
        found.points(0, len(memories)),
        clusters_of(len(memories), settings.clusters_max),
        iterations=settings.iterations,
    )
    fact = Clustered(method=METHOD, clusters=_clusters(given, memories, groups), dream=given.dream)
    before = len(view.graph.clusters.at(view.seq))
    why = f"{missing} of {len(memories)} memories with a vector were in no cluster"
    change = Change(id=EVERY_MEMORY, what="clusters", before=before, after=len(fact.clusters), why=why)
    return Outcome((fact,), len(memories), (change,))


def _clusters(given: PhaseInput, memories: IntArray, found: Partition) -> tuple[Cluster, ...]:
    ids = given.view.documents.ids.values
    order = np.argsort(found.belongs, kind="stable")
    _, firsts = np.unique(found.belongs[order], return_index=True)
    return tuple(
        Cluster(
            name=f"c{number}",
            centroid=to_bytes(centroid),
            members=tuple(ids[memory] for memory in memories[members].tolist()),
        )
        for number, (centroid, members) in enumerate(
            zip(found.centroids, np.split(order, firsts[1:]), strict=True), 1
        )
    )
