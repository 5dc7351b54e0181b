"""Scores as they are compared: rounded to 12 significant digits.

Two sums that differ only in their last bits are the same score. Rounding goes through the shortest decimal
form, which is exact and the same on every machine.
"""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray

# Two numbers that round to the same 12 digits differ by less than this, relative to the larger.
ROUNDING_MARGIN = 2e-11

_MAGNITUDES = np.array([float(f"1e{n}") for n in range(-11, 12)])
_SCALES = np.array(
    [float(10**n) for n in range(23)]
)  # 10**22 is the largest power of ten that a float holds exactly
_HALF_MARGIN = 1e-3  # a scaled number is below 10**12 and off by at most 2**-53 of itself


def round12(x: float) -> float:
    """x to 12 significant digits."""
    return float(f"{x:.12g}")


def round12_array(values: FloatArray) -> FloatArray:
    """`round12` of every element, the same bits.

    Scaled to 12 digits before the point, rounded to a whole number and divided by the same power of ten: the
    division of two exact numbers is the float nearest to that decimal. Only where the scaled number is so near
    to a half that its own error might decide, and where the power of ten is no exact float, is the decimal form
    asked.
    """
    size = np.abs(values)
    magnitude = _MAGNITUDES.searchsorted(size, side="right")
    usual = ((magnitude > 0) & (size < 1e12)) | (size == 0.0)
    scale = _SCALES.take(len(_SCALES) - magnitude, mode="clip")
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * scale
        whole = np.rint(scaled)
        usual &= np.abs(np.abs(scaled - whole) - 0.5) > _HALF_MARGIN
    rounded: FloatArray = whole / scale
    for place in np.flatnonzero(~usual).tolist():
        rounded[place] = round12(float(values[place]))
    return rounded


def compared(value: float) -> float:
    """The value that decides an order: a whole number (a count, a time) as it is, any other to 12 digits."""
    return value if value.is_integer() else round12(value)
