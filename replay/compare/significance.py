"""Whether a mean difference over questions is more than luck: a paired randomisation test and a bootstrap.

Both draw from numpy's legacy generator, whose stream is frozen for ever, with a fixed seed: the same differences
give the same numbers. Smucker, Allan & Carterette 2007 for the test; Efron 1979 for the interval (percentiles).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from recollect.projections.columns import FloatArray

ROUNDS = 10_000
SEED = 20_070
_LEVEL = 0.95
_CELLS_MAX = 2_000_000
_TOLERANCE = 1e-12


def randomisation_p(differences: Sequence[float]) -> float:
    """The two-sided p-value under "the two sides could change places in any question".

    p = (1 + rounds in which |mean| of randomly signed differences reaches the observed one) / (1 + rounds)
    """
    values = np.asarray(differences, dtype=np.float64)
    if not values.any():
        return 1.0
    random = np.random.RandomState(SEED)
    observed = abs(values.mean()) - _TOLERANCE

    def signed(count: int) -> FloatArray:
        signs = random.randint(0, 2, size=(count, len(values))) * 2 - 1
        return np.asarray((signs * values).mean(axis=1), dtype=np.float64)

    reached = sum(int((np.abs(means) >= observed).sum()) for means in _in_parts(signed, len(values)))
    return (1 + reached) / (1 + ROUNDS)


def bootstrap_interval(differences: Sequence[float]) -> tuple[float, float]:
    """The middle 95 % of the means of resampled differences."""
    values = np.asarray(differences, dtype=np.float64)
    if not values.any():
        return 0.0, 0.0
    random = np.random.RandomState(SEED)

    def resampled(count: int) -> FloatArray:
        picks = random.randint(0, len(values), size=(count, len(values)))
        return np.asarray(values[picks].mean(axis=1), dtype=np.float64)

    means = np.concatenate(_in_parts(resampled, len(values)))
    tail = (1.0 - _LEVEL) / 2.0 * 100.0
    low, high = np.percentile(means, [tail, 100.0 - tail]).tolist()
    return low, high


def _in_parts(draw: Callable[[int], FloatArray], width: int) -> list[FloatArray]:
    """Draw ROUNDS rows in parts that fit in memory."""
    part = max(1, _CELLS_MAX // width)
    return [draw(min(part, ROUNDS - start)) for start in range(0, ROUNDS, part)]
