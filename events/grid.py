"""The grid: embeddings as whole numbers, so that every dot product has one value on every machine.

A vector is normalised, multiplied by 4096 and truncated toward zero to int16. Its norm is then at most 4096,
and by Cauchy-Schwarz every partial sum of a dot product of two such vectors is at most 2**24 in size, which
float32 holds exactly: matrix-vector or matrix-matrix, any block size, any order of summation, any SIMD width
give the same bits. In an event a vector stands as little-endian int16 bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from recollect.events.errors import InvalidInput

GRID = 4096
NORM2_MAX = GRID**2

GridArray = npt.NDArray[np.int16]


def quantize(vector: npt.ArrayLike, *, dimensions: int | None = None) -> GridArray:
    """The point of the grid for the direction of `vector`; `dimensions` is the length it must have."""
    values = _checked(vector, dimensions)
    # Dividing by the largest entry first keeps the squares away from overflow and underflow.
    values = values / np.abs(values).max()
    norm = math.sqrt(math.fsum((values * values).tolist()))
    point: GridArray = np.trunc(values / norm * GRID).astype(np.int16)
    # Rounding cannot lift the whole number norm2 above 2**24: that would take a relative error of 2**-25.
    assert 0 < norm2(point) <= NORM2_MAX
    return point


def norm2(point: GridArray) -> int:
    """The squared norm."""
    wide = point.astype(np.int64)
    return int(wide @ wide)


def to_bytes(point: GridArray) -> bytes:
    return point.astype("<i2").tobytes()


def from_bytes(data: bytes) -> GridArray:
    """The point in `data`, read-only and without a copy."""
    if len(data) % 2:
        raise InvalidInput(
            f"a grid vector is two bytes per dimension, but these are {len(data)} bytes; "
            f"write vectors with recollect.events.grid.to_bytes"
        )
    return np.frombuffer(data, dtype="<i2").astype(np.int16, copy=False)


def cosine(dot: int, norm2_a: int, norm2_b: int) -> float:
    """dot / sqrt(norm2_a * norm2_b): the product is at most 2**48, so equal vectors give exactly 1."""
    return dot / math.sqrt(norm2_a * norm2_b)


def cosine_of(a: GridArray, b: GridArray) -> float:
    """The cosine of two points of the same space."""
    return cosine(int(a.astype(np.int64) @ b.astype(np.int64)), norm2(a), norm2(b))


def cosines(dots: npt.NDArray[Any], norm2_query: int, norms2: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """`cosine` for many; square root and division are correctly rounded, so the bits are the same."""
    return dots.astype(np.float64) / np.sqrt(norms2.astype(np.float64) * float(norm2_query))


def _checked(vector: npt.ArrayLike, dimensions: int | None) -> npt.NDArray[np.float64]:
    try:
        raw = np.asarray(vector)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a vector must be a flat list of numbers: {error}") from error
    if raw.ndim != 1:
        raise InvalidInput(f"a vector must have one axis, not shape {raw.shape}; pass one row at a time")
    if len(raw) == 0:
        raise InvalidInput("a vector must not be empty; pass None for a memory without one")
    if raw.dtype.kind not in "iuf":
        raise InvalidInput(f"a vector must hold numbers, not {raw.dtype} such as {raw[0]!r}")
    if dimensions is not None and len(raw) != dimensions:
        raise InvalidInput(
            f"the vector has {len(raw)} dimensions, but {dimensions} are expected; "
            f"embed with the store's own embedder, or adopt another and re-embed"
        )
    values = raw.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise InvalidInput(f"the vector holds {values[bad[0]]} at position {bad[0]}; embed the text again")
    if not values.any():
        raise InvalidInput(
            f"all {len(values)} numbers of the vector are 0: it has no direction; pass None instead"
        )
    return values
