"""exp and log with the same bits on every machine.

A C library's exp differs in the last bit between builds (with or without FMA, glibc or musl), numpy's between
CPUs. These are made of + - * / and comparisons of float64 alone, which IEEE 754 rounds in one way, and of frexp,
which is exact. A column and a single number go through the same lines, so both have the same bits, and no
element depends on the others of its column.

exp      x = k · ln 2 / 128 + r;  2^(k/128) from a table with its rounding error, times a polynomial in r
log      x = z · 2^k, z in [11/16, 11/8);  z / c = 1 + r for the middle c of one of 128 cells, where 1/c is so short
         that r is exact in two parts;  k · ln 2 + ln c from tables in two parts, plus a polynomial in r

Both are within 0.52 ulp (0.75 where exp is subnormal). Nothing raises: exp overflows to inf, log gives -inf for 0
and nan below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from recollect.projections import portable_tables as tables
from recollect.projections.columns import FloatArray

LN2 = tables.LN2

_Real = TypeVar("_Real", float, FloatArray)

_N = 128
_EXP_MIN, _EXP_MAX = -746.0, 710.0  # beyond these, exp is 0 or inf
_ROUND = 1.5 * 2.0**52  # added and taken away again, it leaves the nearest whole number
_SPLIT = 2.0**26  # likewise the nearest multiple of 2 ** -26
_BLOCK = 4096  # so many values at once stay in a core's cache
# 2 ** n as a product of two, for n from 0 upwards and, counted from the end, from -1080 to -1.
_EXPONENTS = (*range(1026), *range(-1080, 0))
_SCALE = [math.ldexp(1.0, min(max(n, -1000), 1000)) for n in _EXPONENTS]
_SCALE_REST = [math.ldexp(1.0, n - min(max(n, -1000), 1000)) for n in _EXPONENTS]
_SCALES, _SCALES_REST = np.array(_SCALE), np.array(_SCALE_REST)
_POWER, _POWER_TAIL = np.array(tables.POWER), np.array(tables.POWER_TAIL)
_INVERSE, _LN_HIGH, _LN_LOW = np.array(tables.INVERSE), np.array(tables.LN_HIGH), np.array(tables.LN_LOW)
_THIRD, _SIXTH, _SEVENTH, _NINTH = 1.0 / 3.0, 1.0 / 6.0, 1.0 / 7.0, 1.0 / 9.0
_24TH, _120TH = 1.0 / 24.0, 1.0 / 120.0


# --- exp -------------------------------------------------------------------------------------------


def exp(x: float) -> float:
    """e ** x."""
    if math.isnan(x):
        return x
    x = min(max(x, _EXP_MIN), _EXP_MAX)
    steps = _steps(x)
    k = int(steps)
    power, i = k >> 7, k & (_N - 1)
    value = _near_one(_rest(x, steps), tables.POWER[i], tables.POWER_TAIL[i])
    return value * _SCALE[power] * _SCALE_REST[power]


def exp_column(values: FloatArray) -> FloatArray:
    """e ** x of each."""
    return _in_blocks(_exp_block, values)


def _exp_block(values: FloatArray) -> FloatArray:
    x = np.fmin(np.fmax(values, _EXP_MIN), _EXP_MAX)  # a missing value is a number for now
    steps = _steps(x)
    k = steps.astype(np.int64)
    power, i = k >> 7, k & (_N - 1)
    value = _near_one(_rest(x, steps), _POWER.take(i), _POWER_TAIL.take(i)) * _SCALES.take(power)
    with np.errstate(over="ignore", under="ignore"):
        value = value * _SCALES_REST.take(power)
    return np.where(np.isnan(values), values, value)


def _steps(x: _Real) -> _Real:
    return (x * tables.STEPS_PER_UNIT + _ROUND) - _ROUND


def _rest(x: _Real, steps: _Real) -> _Real:
    """x − steps · ln 2 / 128; the first product and difference are exact."""
    return (x - steps * tables.STEP_HIGH) - steps * tables.STEP_LOW


def _near_one(r: _Real, power: _Real, tail: _Real) -> _Real:
    """power · (1 + tail) · e^r."""
    beyond = r * r * (0.5 + r * (_SIXTH + r * (_24TH + r * _120TH)))
    return power + power * (r + (tail + beyond))


# --- log -------------------------------------------------------------------------------------------


def log(x: float) -> float:
    """The natural logarithm."""
    if not 0.0 < x < math.inf:
        return x if x > 0.0 or math.isnan(x) else (-math.inf if x == 0.0 else math.nan)
    z, power = math.frexp(x)
    if z < 0.6875:
        z, power = z * 2.0, power - 1
    i = int((z - 0.6875) * 256.0 if z < 1.0 else 80.0 + (z - 1.0) * 128.0)
    return _ln(z, float(power), tables.INVERSE[i], tables.LN_HIGH[i], tables.LN_LOW[i])


def log_column(values: FloatArray) -> FloatArray:
    """The natural logarithm of each."""
    return _in_blocks(_log_block, values)


def _log_block(values: FloatArray) -> FloatArray:
    usual = (values > 0.0) & (values < np.inf)
    mantissas, exponents = np.frexp(np.where(usual, values, 1.0))
    low = mantissas < 0.6875
    z = np.where(low, mantissas * 2.0, mantissas)
    power = exponents - low.astype(np.float64)
    i = np.where(z < 1.0, (z - 0.6875) * 256.0, 80.0 + (z - 1.0) * 128.0).astype(np.int64)
    found = _ln(z, power, _INVERSE.take(i), _LN_HIGH.take(i), _LN_LOW.take(i))
    if usual.all():
        return found
    strange = np.where(values == 0.0, -np.inf, np.where(values > 0.0, values, np.nan))
    return np.where(usual, found, strange)


def _ln(z: _Real, power: _Real, inverse: _Real, ln_high: _Real, ln_low: _Real) -> _Real:
    """power · ln 2 + ln c + ln(z / c), given 1/c and ln c in two parts."""
    front = (z + _SPLIT) - _SPLIT
    far = front * inverse - 1.0  # exact, and so is what is left of z
    near = (z - front) * inverse
    r = far + near
    r_low = (far - r) + near
    whole = power * tables.LN2_HIGH + ln_high  # exact: multiples of 2 ** -42
    high = whole + r
    low = ((whole - high) + r) + (r_low + (power * tables.LN2_LOW + ln_low))
    a = -0.125 + r * _NINTH
    b = 0.2 + r * (-_SIXTH + r * (_SEVENTH + r * a))
    beyond = r * r * (-0.5 + r * (_THIRD + r * (-0.25 + r * b)))
    return high + (low + beyond)


# --- what dreams need in addition ------------------------------------------------------------------


def exp2(x: float) -> float:
    """2 ** x, exact for whole numbers."""
    if math.isnan(x):
        return x
    x = min(max(x, -1079.0), 1025.0)
    whole = (x + _ROUND) - _ROUND
    power = int(whole)
    return exp((x - whole) * LN2) * _SCALE[power] * _SCALE_REST[power]


def expm1(x: float) -> float:
    """e ** x − 1, also for small x (Kahan's quotient; within 3 ulp)."""
    grown = exp(x)
    if grown == 1.0 or grown - 1.0 == -1.0:
        return x if grown == 1.0 else -1.0
    return (grown - 1.0) * x / log(grown)


def power(base: float, exponent: float) -> float:
    """base ** exponent for a base above 0, within 1 + |exponent · ln base| ulp."""
    return exp(exponent * log(base))


def _in_blocks(function: Callable[[FloatArray], FloatArray], values: FloatArray) -> FloatArray:
    if len(values) <= _BLOCK:
        return function(values)
    return np.concatenate([function(values[i : i + _BLOCK]) for i in range(0, len(values), _BLOCK)])


# Scores as they are compared: rounded to 12 significant digits.
#
# Two sums that differ only in their last bits are the same score. Rounding goes through the shortest decimal
# form, which is exact and the same on every machine.

# Two numbers that round to the same 12 digits differ by less than this, relative to the larger.
ROUNDING_MARGIN = 2e-11

_MAGNITUDES = np.array([float(f"1e{n}") for n in range(-11, 12)])
_TENS = np.array(
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
    scale = _TENS.take(len(_TENS) - magnitude, mode="clip")
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
