from __future__ import annotations

from recollect.projections.columns import FloatArray


def laplace_count(access_count: FloatArray) -> FloatArray:
    """The accesses with one added, so that a memory never accessed keeps a share.

    access_count + 1

    Divided by its maximum it is Engram's Laplace-smoothed access frequency before RRF.
    """
    return access_count + 1.0
