"""What use, sleep and people made of a memory: strength, depth, spread, accesses, feedback."""

from __future__ import annotations

from math import inf

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative, Positive, Share
from recollect.query.factors.factor import Elementary, factor


@factor((0.0, 1.0))
def strength(strength: FloatArray) -> FloatArray:
    """Synaptic strength as it stands: dreams raise it by replay and scale all of it down (SHY).

    strength

    Range [0, 1]; 1 for a memory that never dreamt. Source: Reverie ADR-006, factor 5.
    """
    return strength


@factor(lambda **weights: (min(weights.values()), max(weights.values())))
def depth_weight(
    depth_score: FloatArray,
    *,
    episodic: NonNegative = 0.8,
    intermediate: NonNegative = 1.0,
    semantic: NonNegative = 1.2,
) -> FloatArray:
    """What systems consolidation is worth: depth 1 episodic, 2 intermediate, 3 semantic.

    (episodic, intermediate, semantic)[depth_score − 1]

    Range [min(episodic, intermediate, semantic), max(episodic, intermediate, semantic)].

    Source: Reverie ADR-006, factor 6; the weights 0.8 / 1.0 / 1.2 from its changelog 0.4.1.
    """
    weights = np.array([episodic, intermediate, semantic])
    return weights[np.clip(depth_score.astype(np.int64), 1, 3) - 1]


@factor((1.0, inf))
def session_spread(math: Elementary, /, session_spread: FloatArray) -> FloatArray:
    """Reactivation across sessions, on a log scale normalised to 1 at a spread of 1.

    ln(1 + spread) / ln 2        1 → 1, 3 → 2, 7 → 3

    Range [1, ∞). Source: Reverie ADR-006, factor 7, and its changelog 0.5.0 (T46). The spread is the one that the last
    dream saw, so a store that never dreamt is neutral.
    """
    return math.log(1.0 + session_spread) / math.ln2


@factor((1.0, inf))
def laplace_count(access_count: FloatArray) -> FloatArray:
    """The accesses with one added, so that a memory never accessed keeps a share.

    access_count + 1

    Divided by its maximum it is Engram's Laplace-smoothed access frequency before RRF.
    """
    return access_count + 1.0


@factor((0.0, 1.0))
def log_usage(math: Elementary, /, access_count: FloatArray, *, scale: Positive = 5.0) -> FloatArray:
    """How often a memory was used, on a log scale: a thousand times does not drown out five.

    min(1, ln(1 + access_count) / scale)

    Range [0, 1]; 1 from 148 accesses on at scale 5. Source: MemorySync, Semantic Ranking, usage factor.
    """
    return np.minimum(1.0, math.log(1.0 + access_count) / scale)


@factor(lambda floor, praise, praise_max, **_: (floor, 1.0 + praise_max * praise))
def feedback_factor(
    feedback: FloatArray,
    *,
    praise: NonNegative = 0.15,
    praise_max: NonNegative = 10.0,
    blame: NonNegative = 0.2,
    floor: Share = 0.2,
) -> FloatArray:
    """What people said of a memory: praise lifts it, blame pushes it down to a floor.

    feedback ≥ 0:  1 + min(feedback, praise_max) · praise
    feedback < 0:  max(floor, 1 + feedback · blame)

    Range [0.2, 2.5]. feedback = helpful − unhelpful − 2 · outdated. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 8.
    """
    praised = 1.0 + np.minimum(feedback, praise_max) * praise
    blamed = np.maximum(floor, 1.0 + feedback * blame)
    return np.where(feedback < 0.0, blamed, praised)


@factor(lambda low, span, **_: (min(low, 1.0), max(low + span, 1.0)))
def thompson_boost(
    kind_helpful: FloatArray,
    kind_unhelpful: FloatArray,
    *,
    trials_min: Count = 5,
    low: NonNegative = 0.8,
    span: NonNegative = 0.4,
) -> FloatArray:
    """How often memories of this kind were judged helpful: the mean of a Beta distribution from Beta(1, 1).

    low + span · α / (α + β)   with α = 1 + helpful, β = 1 + all other verdicts; 1 below trials_min verdicts

    Range (0.8, 1.2). The mean, not a sample: a ranking has no luck. Source: OMEGA, RRF Scoring Pipeline
    Analysis, step 3 (thompson_boost).
    """
    alpha, beta = 1.0 + kind_helpful, 1.0 + kind_unhelpful
    boost = low + span * (alpha / (alpha + beta))
    return np.where(kind_helpful + kind_unhelpful < trials_min, 1.0, boost)
