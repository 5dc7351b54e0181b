"""What a memory is worth by what it is: importance, priority, kind."""

from __future__ import annotations

from math import inf

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative, Positive, Share
from recollect.query.factors.factor import UNBOUNDED, factor


@factor(lambda k, positions, **_: (0.0, 1.0 / (k + 1.0) - 1.0 / (k + 1.0 + positions)))
def importance_bonus(
    importance: FloatArray, *, threshold: Share = 0.8, k: Positive = 60.0, positions: Count = 10
) -> FloatArray:
    """What a memory of high importance gains: as much as rising some positions to the first.

    1 / (k + 1) − 1 / (k + 1 + positions) if importance ≥ threshold, else 0

    0.00231 at k 60 and 10 positions. Source: Engram's plan, step 2c; the threshold is ours.
    """
    return np.where(importance >= threshold, 1.0 / (k + 1.0) - 1.0 / (k + 1.0 + positions), 0.0)


@factor((0.0, 1.0))
def high_importance_bonus(
    importance: FloatArray, fuse_k: FloatArray, *, threshold: Share = 0.8, positions: Count = 10
) -> FloatArray:
    """What a memory of high importance gains: as much as rising some positions to the first of the lists fused before.

    1 / (k + 1) − 1 / (k + 1 + positions) if importance ≥ threshold, else 0, with the k of the `fuse` before

    0.00231 at k 60 and 10 positions. Source: Engram's plan, step 2c ("scales if K is ever tuned"); the threshold is ours.
    """
    gain = 1.0 / (fuse_k + 1.0) - 1.0 / (fuse_k + 1.0 + positions)
    return np.where(importance >= threshold, gain, 0.0)


@factor((1.0, 1.0), gives_none=True)
def high_importance(importance: FloatArray, *, threshold: Share = 0.8) -> FloatArray:
    """1 for a memory of high importance; any other has no value.

    1 if importance ≥ threshold

    Source: Engram's plan says importance === 'high'; importance here is a number, and the threshold from
    which it counts as high is ours.
    """
    return np.where(importance >= threshold, 1.0, np.nan)


@factor(lambda base, step: (base + step, base + 5.0 * step))
def priority_factor(
    priority: FloatArray, default_priority: FloatArray, *, base: NonNegative = 0.7, step: NonNegative = 0.08
) -> FloatArray:
    """A memory's priority from 1 to 5, or that of its kind if it was given none.

    base + priority · step

    Range [0.78, 1.10]; priorities outside 1 to 5 count as the nearest. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 9.
    """
    given = np.where(np.isnan(priority), default_priority, priority)
    return base + np.clip(given, 1.0, 5.0) * step


@factor(UNBOUNDED)
def type_weight(type_weight: FloatArray) -> FloatArray:
    """What a memory's kind is worth, from the column that a `look-up` wrote.

    type_weight

    Range 0.05 to 3 in omega's table. Source: OMEGA, RRF Scoring Pipeline Analysis, group 7.
    """
    return type_weight


@factor((0.0, inf))
def preference_boost(is_preference: FloatArray, *, preference: float) -> FloatArray:
    """A lift for preferences when the question asks for one.

    preference   if is_preference > 0; else 1

    `preference` is a dial (1.5 for such a question, else 1); `is_preference` a column that a `look-up` wrote.
    Source: OMEGA, RRF Scoring Pipeline Analysis, group 13.
    """
    return np.where(is_preference > 0.0, preference, 1.0)
