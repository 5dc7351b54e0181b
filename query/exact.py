"""Elementwise mathematics with the same bits on every machine.

numpy's + - * / and sqrt are correctly rounded and may be used freely; its exp, log and power use SIMD
approximations that differ between CPUs, so those go through `math`, value by value.
"""

from __future__ import annotations

import math

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.projections.rounding import round12


def compared(value: float) -> float:
    """The value that decides an order: a whole number (a count, a time) as it is, any other to 12 digits."""
    return value if value.is_integer() else round12(value)


def exp(values: FloatArray) -> FloatArray:
    return np.array([math.exp(value) for value in values.tolist()], dtype=np.float64)


def log(values: FloatArray) -> FloatArray:
    return np.array([math.log(value) for value in values.tolist()], dtype=np.float64)


def log1p_int(values: FloatArray) -> FloatArray:
    """ln(1 + n) for whole numbers n."""
    return np.array([math.log(1.0 + value) for value in values.tolist()], dtype=np.float64)


def retention(elapsed: FloatArray, stability: FloatArray, *, tau_days: float) -> FloatArray:
    """Ebbinghaus's forgetting curve R = exp(−t / (τ · S)); nothing is retained at stability 0."""
    return np.array(
        [
            math.exp(-t / (tau_days * S)) if S > 0.0 else float(t == 0.0)
            for t, S in zip(elapsed.tolist(), stability.tolist(), strict=True)
        ],
        dtype=np.float64,
    )
