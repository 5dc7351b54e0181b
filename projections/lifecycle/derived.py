"""Two numbers that dreams weigh memories by, computed from the lifecycle and a clock, never stored.

    staleness = idle_days × decay_per_day(kind)
    signal    = accesses_per_day × revision_count × weight(kind)

The two formulas are those of Reverie's ADR-006 (`staleness_score`, `signal_score`). Its documents name the
kinds but publish no numbers for them, so `KINDS` is our own choice: 1 / decay_per_day is the number of idle
days after which a memory of that kind counts as stale (staleness 1), near the limits that its prune rules
give in days (session 30, bug 60, config 90, decision 180; reference and heuristic never: ten years here).
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from recollect.events.facts import Micros
from recollect.projections.columns import FloatArray, IntArray
from recollect.projections.lifecycle.columns import LifecycleColumns

Number = TypeVar("Number", float, FloatArray)

MICROS_PER_DAY = 86_400_000_000


class KindNumbers(NamedTuple):
    """How fast a kind of memory goes stale, and how much its use is worth."""

    decay_per_day: float
    weight: float


DEFAULT_KIND = KindNumbers(decay_per_day=1 / 90, weight=1.0)

KINDS: dict[str, KindNumbers] = {
    "directive": KindNumbers(decay_per_day=1 / 3650, weight=2.0),
    "preference": KindNumbers(decay_per_day=1 / 365, weight=1.5),
    "decision": KindNumbers(decay_per_day=1 / 180, weight=1.5),
    "reference": KindNumbers(decay_per_day=1 / 3650, weight=1.2),
    "heuristic": KindNumbers(decay_per_day=1 / 3650, weight=1.2),
    "session": KindNumbers(decay_per_day=1 / 30, weight=0.5),
    "config": KindNumbers(decay_per_day=1 / 90, weight=1.0),
    "bug": KindNumbers(decay_per_day=1 / 60, weight=0.8),
}


def kind_numbers(kind: str) -> KindNumbers:
    """The numbers of a kind, whatever its case; those of `DEFAULT_KIND` for one that is not listed."""
    return KINDS.get(kind.lower(), DEFAULT_KIND)


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


def staleness_at(columns: LifecycleColumns, now: Micros) -> FloatArray:
    """The staleness of each of these memories at `now`."""
    decay_per_day, _ = _by_kind(columns)
    return staleness(idle_days=elapsed_days(columns.touched_at, now), decay_per_day=decay_per_day)


def signal_at(columns: LifecycleColumns, now: Micros) -> FloatArray:
    """The signal of each of these memories at `now`; a memory younger than a day counts as a day old."""
    _, weight = _by_kind(columns)
    age_days = np.maximum(elapsed_days(columns.created_at, now), 1.0)
    return signal(
        accesses_per_day=columns.access_count / age_days,
        revision_count=columns.revision_count.astype(np.float64),
        weight=weight,
    )


def _by_kind(columns: LifecycleColumns) -> tuple[FloatArray, FloatArray]:
    """decay_per_day and weight of each memory's kind."""
    values = columns.strings.values
    known = {n: kind_numbers(values[n]) if n >= 0 else DEFAULT_KIND for n in set(columns.kind.tolist())}
    numbers = np.array([known[number] for number in columns.kind.tolist()]).reshape(-1, 2)
    return numbers[:, 0], numbers[:, 1]
