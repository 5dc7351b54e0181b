"""Clusters of points on the grid, the same on every machine.

Spherical k-means in whole numbers: a dot product of two points of the grid is exact in float32 on any
machine, sums of points are taken in int64, and a centroid is the grid's point for the direction of its members' sum.
A point belongs to the centroid with the largest dot product, the first of equals. The first centroids are k points
evenly spread over the given order. No randomness, no rounding that depends on an order of summation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recollect.events.grid import GridArray, quantize
from recollect.projections.columns import IntArray

METHOD = "spherical-kmeans/1"
_BLOCK = 8_192

Float32Array = npt.NDArray[np.float32]


class Partition(NamedTuple):
    """The centroid of each cluster, and to which cluster each point belongs. No cluster is empty."""

    centroids: GridArray
    belongs: IntArray


def partition(points: Float32Array, clusters: int, *, iterations: int) -> Partition:
    """At most `clusters` clusters of points on the grid (whole numbers as float32)."""
    starts = np.arange(clusters) * len(points) // clusters
    centroids: GridArray = points[starts].astype(np.int16)
    belongs = _nearest(points, centroids)
    for _ in range(iterations):
        centroids = _centroids(points, belongs, centroids)
        moved = _nearest(points, centroids)
        if np.array_equal(moved, belongs):
            break
        belongs = moved
    kept, numbers = np.unique(belongs, return_inverse=True)
    return Partition(centroids[kept], numbers.astype(np.int64))


def _nearest(points: Float32Array, centroids: GridArray) -> IntArray:
    """The cluster of each point; argmax takes the first of equals."""
    across = centroids.astype(np.float32).T
    belongs = np.empty(len(points), dtype=np.int64)
    for first in range(0, len(points), _BLOCK):
        belongs[first : first + _BLOCK] = np.argmax(points[first : first + _BLOCK] @ across, axis=1)
    return belongs


def _centroids(points: Float32Array, belongs: IntArray, before: GridArray) -> GridArray:
    """The directions of the members' sums; a cluster without one keeps its centroid."""
    after = before.copy()
    order = np.argsort(belongs, kind="stable")
    numbers, firsts = np.unique(belongs[order], return_index=True)
    for number, members in zip(numbers.tolist(), np.split(order, firsts[1:]), strict=True):
        total = points[members].sum(axis=0, dtype=np.float64)
        if total.any():
            after[number] = quantize(total)
    return after
