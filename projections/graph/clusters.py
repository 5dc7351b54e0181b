"""clusters: which memory belonged to which cluster, assignment by assignment.

A `Clustered` event replaces the whole assignment before it. Clusters are numbered over all assignments, so
that a number alone says which centroid is meant. A memory that is named twice belongs to the first cluster
that names it; ids that do not exist are left out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from recollect.events.facts import Clustered, GridVector
from recollect.projections.columns import (
    Column,
    Int32Array,
    IntArray,
    Interner,
    Saved,
    State,
    dump_strings,
    load_strings,
)


class ClusterAt(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster of an assignment; members are memory numbers, ascending."""

    number: int
    name: str
    centroid: GridVector
    members: tuple[int, ...]


class Clusters:
    """Assignment i holds the members from `_member_ends[i-1]` on and the clusters from `_cluster_ends[i-1]` on."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._centroids: list[GridVector] = []
        self._seqs: Column[np.int64] = Column(np.int64)
        self._member_ends: Column[np.int64] = Column(np.int64)
        self._cluster_ends: Column[np.int64] = Column(np.int64)
        self._members: Column[np.int32] = Column(np.int32)
        self._clusters: Column[np.int32] = Column(np.int32)

    def assign(self, fact: Clustered, seq: int, ids: Interner) -> None:
        belongs: dict[int, int] = {}
        for cluster in fact.clusters:
            number = len(self._names)
            self._names.append(cluster.name)
            self._centroids.append(bytes(cluster.centroid))
            for id_ in cluster.members:
                if (memory := ids.find(id_)) >= 0:
                    belongs.setdefault(memory, number)
        members = sorted(belongs)
        self._members.extend(members)
        self._clusters.extend([belongs[memory] for memory in members])
        self._seqs.append(seq)
        self._member_ends.append(len(self._members))
        self._cluster_ends.append(len(self._names))

    def of(self, memories: IntArray | Int32Array, seq: int) -> Int32Array:
        """The cluster number of each memory at `seq`; -1 if it is in no cluster."""
        members, clusters, _ = self._assignment(seq)
        if not len(members):
            return np.full(len(memories), -1, dtype=np.int32)
        places = np.minimum(np.searchsorted(members, memories), len(members) - 1)
        return np.where(members[places] == memories, clusters[places], np.int32(-1))

    def centroid(self, number: int) -> GridVector:
        """The centroid of a cluster, by its number."""
        return self._centroids[number]

    def at(self, seq: int) -> list[ClusterAt]:
        """All clusters of the assignment in force at `seq`, in the order of the event."""
        members, clusters, numbers = self._assignment(seq)
        return [
            ClusterAt(
                number=number,
                name=self._names[number],
                centroid=self._centroids[number],
                members=tuple(members[clusters == number].tolist()),
            )
            for number in numbers
        ]

    def assigned(self, seq: int) -> int:
        """The seq of the assignment in force at `seq`; 0 before the first assignment."""
        last = int(np.searchsorted(self._seqs.array, seq, side="right")) - 1
        return int(self._seqs[last]) if last >= 0 else 0

    def _assignment(self, seq: int) -> tuple[Int32Array, Int32Array, range]:
        """Members and their clusters, and the numbers of all clusters, of the assignment at `seq`."""
        last = int(np.searchsorted(self._seqs.array, seq, side="right")) - 1
        if last < 0:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), range(0)
        part = slice(_start(self._member_ends, last), self._member_ends[last])
        numbers = range(_start(self._cluster_ends, last), self._cluster_ends[last])
        return self._members.array[part], self._clusters.array[part], numbers

    def _columns(self) -> tuple[tuple[str, Column[Any]], ...]:
        return (
            ("cluster_seqs", self._seqs),
            ("member_ends", self._member_ends),
            ("cluster_ends", self._cluster_ends),
            ("members", self._members),
            ("clusters", self._clusters),
        )

    def dump(self) -> State:
        ends = np.cumsum([0, *map(len, self._centroids)], dtype=np.int64)
        return {
            "cluster_names": dump_strings(self._names),
            "centroids": b"".join(self._centroids),
            "centroid_ends": ends,
            **{name: column.array for name, column in self._columns()},
        }

    def load(self, state: Saved) -> None:
        self._names = load_strings(state["cluster_names"])
        centroids = bytes(state["centroids"])
        ends = state["centroid_ends"].tolist()
        self._centroids = [centroids[start:end] for start, end in pairwise(ends)]
        for name, column in self._columns():
            column.load(state[name])


def _start(ends: Column[np.int64], index: int) -> int:
    return int(ends[index - 1]) if index else 0
