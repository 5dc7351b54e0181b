"""Age, idle time and the time a question is about."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Count, NonNegative, Positive, Share
from recollect.query.factors.factor import Elementary, factor


@factor(lambda boost, **_: (1.0, 1.0 + boost))
def recency_boost(
    math: Elementary, /, age_days: FloatArray, *, boost: NonNegative = 0.3, tau_days: Positive = 30.0
) -> FloatArray:
    """A lift for what was written lately; the old keep their score.

    1 + boost · exp(−age_days / tau_days)

    Range (1, 1 + boost]. Source: Reverie ADR-006, factor 4 (boost 0.3, τ 30 days; τ is 1/e, not a half-life).
    """
    return 1.0 + boost * math.exp(-age_days / tau_days)


@factor(lambda base, boost, **_: (base, base + boost))
def recency_share(
    math: Elementary,
    /,
    age_hours: FloatArray,
    *,
    base: NonNegative = 0.7,
    boost: NonNegative = 0.3,
    tau_hours: Positive = 168.0,
) -> FloatArray:
    """What age leaves of a score: all of it when new, the base when old.

    base + boost · exp(−age_hours / tau_hours)

    Range (base, base + boost]. Source: Mnemosyne, Ranking & Scoring, recency decay; τ = 168 h from its code,
    which calls it a half-life although exp(−t/τ) falls to 1/e.
    """
    return base + boost * math.exp(-age_hours / tau_hours)


@factor((0.0, 1.0))
def half_life_recency(
    math: Elementary, /, age_hours: FloatArray, *, half_life_hours: Positive = 720.0
) -> FloatArray:
    """Recency by a true half-life since creation: 1 when new, 1/2 after one half-life.

    exp(−age_hours · ln 2 / half_life_hours)

    Range (0, 1]. Source: Engram's scoring before RRF (recollection-writer.ts), 30 days.
    """
    return math.exp(-age_hours * math.ln2 / half_life_hours)


@factor((0.0, 1.0))
def intent_recency(math: Elementary, /, age_hours: FloatArray, *, half_life_hours: float) -> FloatArray:
    """Recency by a half-life that depends on what the question is after (the dial `half_life_hours`).

    exp(−age_hours · ln 2 / half_life_hours)

    Range (0, 1]. Source: MemorySync, Semantic Ranking, recency factor: 24, 72 or 168 hours.
    """
    return math.exp(-age_hours * math.ln2 / half_life_hours)


@factor((0.0, 1.0))
def idle_decay(
    math: Elementary, /, idle_days: FloatArray, stability: FloatArray, *, tau_days: Positive = 30.0
) -> FloatArray:
    """What is left of a memory that is not recalled: 1 when just touched, falling with idle time.

    exp(−idle_days / (tau_days · stability))

    Range [0, 1]. MemorySync has a decay_score that is 1 at first and falls when a memory is not recalled,
    without its expression; Ebbinghaus' curve with τ = 30 days is ours.
    """
    return math.retention(idle_days, stability, tau_days)


@factor(lambda floor_accessed, floor_never_accessed, **_: (min(floor_accessed, floor_never_accessed), 1.0))
def floored_decay(
    math: Elementary,
    /,
    idle_days: FloatArray,
    access_count: FloatArray,
    decay_per_day: FloatArray,
    decay_slowing: FloatArray,
    *,
    floor_accessed: Share = 0.35,
    floor_never_accessed: Share = 0.15,
    slowed_accesses_max: Count = 10,
    slowed_decay_min: NonNegative = 0.002,
) -> FloatArray:
    """Exponential decay since the last access at the pace of the memory's kind, down to a floor.

    max(floor, exp(−λ · idle_days)), exactly 1 for λ = 0
    λ = decay_per_day; where decay_slowing < 1: max(slowed_decay_min, λ · decay_slowing^min(accesses, 10))

    Range [0.15, 1]; the floor is the higher one for what was ever accessed. Source: OMEGA, RRF Scoring Pipeline
    Analysis, group 10. `decay_per_day` and `decay_slowing` are columns that a `look-up` wrote.
    """
    values = zip(*(a.tolist() for a in (access_count, decay_per_day, decay_slowing)), strict=True)
    paces = []
    for accesses, pace, slowing in values:
        for _ in range(min(int(accesses), slowed_accesses_max) if slowing < 1.0 else 0):
            pace *= slowing  # noqa: PLW2901 (slower with every access)
        if slowing < 1.0 and accesses > 0.0:
            pace = max(slowed_decay_min, pace)  # noqa: PLW2901
        paces.append(pace)
    left = math.exp(-np.array(paces, dtype=np.float64) * idle_days)
    floor = np.where(access_count > 0.0, floor_accessed, floor_never_accessed)
    return np.where(left > floor, left, floor)


@factor(lambda weight, **_: (1.0 - weight, 1.0 + weight))
def stability(
    math: Elementary,
    /,
    idle_days: FloatArray,
    stability: FloatArray,
    *,
    weight: Share = 0.3,
    tau_days: Positive = 30.0,
) -> FloatArray:
    """Ebbinghaus retention against that of a memory with stability 1, bounded.

    R(t, S) = exp(−t / (τ · S))
    1 + weight · (R(t, S) − R(t, 1))

    Range [1 − weight, 1 + weight]; exactly 1 at stability 1 and at t = 0. t is the time since the last access
    (or since creation). Reverie ADR-006 names factor 8 `stability_decay()`, neutral at 1, without its
    expression; this bounded form, weight 0.3 and τ 30 days are our choice.
    """
    held = math.retention(idle_days, stability, tau_days)
    baseline = math.retention(idle_days, stability * 0.0 + 1.0, tau_days)
    return 1.0 + weight * (held - baseline)


@factor(lambda **p: (min(1.0, *p.values()), max(1.0, *p.values())))
def temporal_fit(
    in_span: FloatArray,
    span_given: FloatArray,
    event_dated: FloatArray,
    *,
    inside: NonNegative = 1.3,
    outside: NonNegative = 0.85,
    outside_dated: NonNegative = 0.15,
    outside_undated: NonNegative = 0.70,
) -> FloatArray:
    """Whether a memory's date lies in the time that the question is about.

    inside            if it does
    outside           if not, and the time was read from the question's words
    outside_dated     if not, the caller gave the time, and the memory has a date of its own
    outside_undated   if not, the caller gave the time, and the memory has only its date of creation
    1                 if the question is about no time

    Source: OMEGA, RRF Scoring Pipeline Analysis, group 22.
    """
    missed = np.where(event_dated > 0.0, outside_dated, outside_undated)
    missed = np.where(span_given > 0.0, missed, outside)
    return np.where(np.isnan(in_span), 1.0, np.where(in_span > 0.0, inside, missed))
