"""Elementwise mathematics with the same bits on every machine, and what a factor's version computes with.

numpy's + - * / and sqrt are correctly rounded and may be used freely. exp and log are not: numpy's differ between
CPUs and a C library's between its builds, so factors are given the ones of their version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from recollect.projections import portable_math
from recollect.projections.columns import FloatArray
from recollect.projections.rounding import round12


def compared(value: float) -> float:
    """The value that decides an order: a whole number (a count, a time) as it is, any other to 12 digits."""
    return value if value.is_integer() else round12(value)


class Elementary(NamedTuple):
    """exp and ln of a column, ln 2, and Ebbinghaus's R(t, S, τ) = exp(−t / (τ · S)), nothing at stability 0."""

    exp: Callable[[FloatArray], FloatArray]
    log: Callable[[FloatArray], FloatArray]
    ln2: float
    retention: Callable[[FloatArray, FloatArray, float], FloatArray]


def _libm_exp(values: FloatArray) -> FloatArray:
    return np.array([math.exp(value) for value in values.tolist()], dtype=np.float64)


def _libm_log(values: FloatArray) -> FloatArray:
    return np.array([math.log(value) for value in values.tolist()], dtype=np.float64)


def _libm_retention(elapsed: FloatArray, stability: FloatArray, tau_days: float) -> FloatArray:
    return np.array(
        [
            math.exp(-t / (tau_days * S)) if S > 0.0 else float(t == 0.0)
            for t, S in zip(elapsed.tolist(), stability.tolist(), strict=True)
        ],
        dtype=np.float64,
    )


def _retention(elapsed: FloatArray, stability: FloatArray, tau_days: float) -> FloatArray:
    held = stability > 0.0
    left = portable_math.exp_column(-elapsed / (tau_days * np.where(held, stability, 1.0)))
    return np.where(held, left, (elapsed == 0.0).astype(np.float64))


# Version 1: the C library's, value by value. They differ in the last bit between machines, and recorded rankings
# were made with them. Version 2: our own.
LIBM = Elementary(_libm_exp, _libm_log, math.log(2.0), _libm_retention)
PORTABLE = Elementary(portable_math.exp_column, portable_math.log_column, portable_math.LN2, _retention)
