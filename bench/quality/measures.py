"""How good a ranking is, how sure we are, and whether two rankings differ.

Every question has a set of right memories. R@k is the share of them among the first k, MRR one over the place of
the first, nDCG@10 the discounted gain over the best possible (Järvelin & Kekäläinen 2002), all with gains of 0 and 1.
The reference implementation `ir-measures` gives the same numbers (tests/bench).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

COLUMNS = ("R@1", "R@5", "R@10", "MRR", "nDCG@10")
NDCG = COLUMNS.index("nDCG@10")
TOP = 10
RESAMPLES = 5_000
SEED = 0


def scores_of(ids: Sequence[str], right: frozenset[str]) -> list[float]:
    """The columns above, for one answer of at most ten ids."""
    gains = [id_ in right for id_ in ids[:TOP]]
    return [
        *(sum(gains[:k]) / len(right) for k in (1, 5, 10)),
        1 / (gains.index(True) + 1) if any(gains) else 0.0,
        sum(gain / math.log2(n + 2) for n, gain in enumerate(gains)) / ideal(len(right)),
    ]


def ideal(right: int) -> float:
    """The discounted gain of an answer that begins with all right memories."""
    return sum(1 / math.log2(n + 2) for n in range(min(TOP, right)))


def interval(values: Floats, *, resamples: int = RESAMPLES) -> tuple[Floats, Floats]:
    """The 95 % bootstrap interval of the mean of each column (percentiles), questions drawn with replacement."""
    means = _draws(len(values), resamples) @ values / len(values)
    return np.quantile(means, 0.025, axis=0), np.quantile(means, 0.975, axis=0)


def p_value(a: Floats, b: Floats, *, resamples: int = RESAMPLES) -> Floats:
    """The paired randomisation test, column by column: how often chance signs give as large a difference of means.

    Two-sided; Smucker, Allan & Carterette 2007. Never below 1 / (resamples + 1).
    """
    difference = a - b
    # A hair of tolerance: sums in another order must not decide a tie.
    chance = np.abs(_signs(len(a), resamples) @ difference) >= np.abs(difference.sum(axis=0)) - 1e-9
    found: Floats = (chance.sum(axis=0) + 1) / (resamples + 1)
    return found


@lru_cache(maxsize=1)
def _draws(questions: int, resamples: int) -> Floats:
    """How often each question is drawn, a row per resample; the same for every ranking of a collection."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(questions, [1 / questions] * questions, size=resamples).astype(np.float64)


@lru_cache(maxsize=1)
def _signs(questions: int, resamples: int) -> Floats:
    rng = np.random.default_rng(SEED)
    return rng.integers(0, 2, size=(resamples, questions)) * 2.0 - 1.0
