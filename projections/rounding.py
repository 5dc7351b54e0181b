"""Scores as they are compared: rounded to 12 significant digits.

Two sums that differ only in their last bits are the same score. Rounding goes through the shortest decimal
form, which is exact and the same on every machine.
"""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray

# Two numbers that round to the same 12 digits differ by less than this, relative to the larger.
ROUNDING_MARGIN = 2e-11


def round12(x: float) -> float:
    """x to 12 significant digits."""
    return float(f"{x:.12g}")


def round12_array(values: FloatArray) -> FloatArray:
    """`round12` of every element; equal elements are rounded once."""
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([round12(x) for x in distinct.tolist()], dtype=np.float64)[places]
