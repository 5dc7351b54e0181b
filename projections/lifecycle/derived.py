"""Two numbers that dreams weigh memories by, computed from the lifecycle and a clock, never stored.

    staleness = idle_days × decay_per_day(kind)
    signal    = accesses_per_day × revision_count × weight(kind)

The two formulas are those of Reverie's ADR-006 (`staleness_score`, `signal_score`). The numbers of the kinds stand in the
settings of a dream: 1 / decay_per_day is the number of idle days after which a memory of that kind counts as stale
(staleness 1), which Reverie's prune rules give (session 30, bug 60, config 90, decision 180; reference and heuristic never,
so their staleness is 0). A memory's score for pruning is signal / staleness.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from recollect.events.facts import Micros
from recollect.projections.columns import FloatArray, IntArray

Number = TypeVar("Number", float, FloatArray)

MICROS_PER_DAY = 86_400_000_000


def staleness(*, idle_days: Number, decay_per_day: Number) -> Number:
    """idle_days × decay_per_day, where idle_days runs from the last access, or else from the creation.

    Range [0, ∞); 0 for what was just accessed. Source: Reverie ADR-006, `staleness_score`.
    """
    return idle_days * decay_per_day


def signal(*, accesses_per_day: Number, revision_count: Number, weight: Number) -> Number:
    """accesses_per_day × revision_count × weight.

    Range [0, ∞); 0 for what was never accessed. Source: Reverie ADR-006, `signal_score`.
    """
    return accesses_per_day * revision_count * weight


def elapsed_days(since: IntArray, now: Micros) -> FloatArray:
    """Days from each time to `now`; 0 for a time that is still to come."""
    return np.maximum(now - since, 0) / float(MICROS_PER_DAY)
