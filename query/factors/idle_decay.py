from __future__ import annotations

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Positive
from recollect.query.portable_math import Elementary


def idle_decay(
    math: Elementary, /, idle_days: FloatArray, stability: FloatArray, *, tau_days: Positive = 30.0
) -> FloatArray:
    """What is left of a memory that nobody recalls: 1 when just touched, falling with idle time.

    exp(−idle_days / (tau_days · stability))

    Range [0, 1]. MemorySync has a decay_score that is 1 at first and falls when a memory is not recalled,
    without its expression; Ebbinghaus' curve with τ = 30 days is ours.
    """
    return math.retention(idle_days, stability, tau_days)
