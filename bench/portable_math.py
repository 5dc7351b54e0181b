"""How far our exp and log are off, against mpmath, and how fast they are: `python bench/portable_math.py`.

mpmath computes 140 bits; a million points for each function take some minutes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import mpmath
import numpy as np

from recollect.projections import portable_math
from recollect.projections.columns import FloatArray

POINTS = 1_000_000


def inputs(seed: int, ranges: list[tuple[float, float]]) -> FloatArray:
    """Points spread evenly over each range, in equal numbers."""
    rng = np.random.Generator(np.random.PCG64(seed))
    each = POINTS // len(ranges)
    return np.concatenate([low + (high - low) * rng.random(each) for low, high in ranges])


def worst(
    found: FloatArray, values: FloatArray, exact: Callable[[mpmath.mpf], mpmath.mpf]
) -> tuple[float, float]:
    """The largest and the mean error in ulp."""
    largest = total = 0.0
    for x, y in zip(values.tolist(), found.tolist(), strict=True):
        true = exact(mpmath.mpf(x))
        error = float(abs(mpmath.mpf(y) - true) / math.ulp(float(true)))
        largest, total = max(largest, error), total + error
    return largest, total / len(values)


def best_of(function: Callable[[], object], rounds: int = 9) -> float:
    """Microseconds of the fastest round."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def main() -> None:
    mpmath.mp.prec = 140
    exps = inputs(1, [(-5.0, 0.0), (-60.0, 0.0), (-700.0, 709.0), (-1e-3, 1e-3)])
    logs = inputs(2, [(0.5, 2.0), (0.999, 1.001), (1.0, 1e3), (1.0, 1e9)])
    for name, column, exact, values in (
        ("exp", portable_math.exp_column, mpmath.exp, exps),
        ("log", portable_math.log_column, mpmath.log, logs),
    ):
        largest, mean = worst(column(values), values, exact)
        sys.stdout.write(f"{name}: {len(values):,} points, at most {largest:.4f} ulp, mean {mean:.3f}\n")
    for n in (100, 600, 10_000, 100_000):
        ages, counts = np.linspace(-5.0, 0.0, n), np.linspace(0.1, 50.0, n)
        for name, column, single, values in (
            ("exp", portable_math.exp_column, math.exp, ages),
            ("log", portable_math.log_column, math.log, counts),
        ):
            ours = best_of(lambda: column(values))  # noqa: B023
            loop = best_of(lambda: np.array([single(v) for v in values.tolist()]))  # noqa: B023
            sys.stdout.write(
                f"{name} of {n:>7,}: {ours:8.1f} µs, a loop over math {loop:8.1f} µs, {loop / ours:.1f}×\n"
            )


if __name__ == "__main__":
    main()
