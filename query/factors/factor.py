"""What a factor is: a pure function with a declared range, registered under its name.

`@factor(range)` puts the function into FACTORS. The range is two numbers, or a function of the factor's
parameters that gives them. A factor whose first parameter is positional-only computes exp or log with what it is
given there, and has two versions: with the C library's (`name`), and with our own (`name/2`).

numpy's + - * / and sqrt are correctly rounded and may be used freely. exp and log are not: numpy's differ between
CPUs and a C library's between its builds, so factors are given the ones of their version.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from recollect.projections import portable_math
from recollect.projections.columns import FloatArray

Factor = Callable[..., FloatArray]
Parameter = float | int | bool | str | dict[str, float] | list[float]
Range = tuple[float, float]
_F = TypeVar("_F", bound=Factor)

UNBOUNDED: Range = (-math.inf, math.inf)


class Signature(NamedTuple):
    """What a factor reads of a candidate (its positional parameters), and which dials (keywords without a default)."""

    inputs: tuple[str, ...]
    dials: tuple[str, ...]


FACTORS: dict[str, Factor] = {}
RANGES: dict[str, Range | Callable[..., Range]] = {}
SIGNATURES: dict[str, Signature] = {}
GIVES_NONE: set[str] = set()


def factor(range_: Range | Callable[..., Range], *, gives_none: bool = False) -> Callable[[_F], _F]:
    """Register a factor and its range; `gives_none`: a candidate may have no value although it has all inputs."""

    def register(function: _F) -> _F:
        name = function.__name__
        first = next(iter(inspect.signature(function).parameters.values()))
        versions: dict[str, Factor] = {name: function}
        if first.kind is first.POSITIONAL_ONLY:
            versions = {name: _with(LIBM, function), f"{name}/2": _with(PORTABLE, function)}
        FACTORS.update(versions)
        SIGNATURES.update({version: _signature(versions[version]) for version in versions})
        RANGES.update(dict.fromkeys(versions, range_))
        GIVES_NONE.update(versions if gives_none else ())
        return function

    return register


def _signature(function: Factor) -> Signature:
    parameters = inspect.signature(function).parameters.values()
    return Signature(
        inputs=tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY),
        dials=tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty),
    )


class Elementary(NamedTuple):
    """exp and ln of a column, ln 2, and Ebbinghaus's R(t, S, τ) = exp(−t / (τ · S)), nothing at stability 0."""

    exp: Callable[[FloatArray], FloatArray]
    log: Callable[[FloatArray], FloatArray]
    ln2: float
    retention: Callable[[FloatArray, FloatArray, float], FloatArray]


def _with(math: Elementary, function: Factor) -> Factor:
    """The factor that computes with these; its docstring is the function's."""
    bound = partial(function, math)
    bound.__doc__ = function.__doc__
    return bound


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
