from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Positive, Share
from recollect.query.portable_math import Elementary


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
