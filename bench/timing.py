"""Time taken fairly: percentiles, and rounds in which every system has its turn.

A machine is never quite idle, and what disturbs it comes in bursts. Systems are therefore not measured one after
the other but in rounds: each system answers a run of questions warm, then the next one does, and every round
begins with another system, so that a burst hits all alike. Within a run a system has the caches to itself, as it
would in use.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Question = TypeVar("Question")

WARM_PER_RUN = 3


class Timing(NamedTuple):
    """What a number of answers took, in milliseconds."""

    p50_ms: float
    p95_ms: float
    mean_ms: float
    answers: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        milliseconds = sorted(second * 1e3 for second in seconds)
        mean = math.fsum(milliseconds) / len(milliseconds)
        return cls(percentile(milliseconds, 50), percentile(milliseconds, 95), mean, len(milliseconds))


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which `percent` of the values lie, linear between two neighbours."""
    if not values:
        raise ValueError("a percentile of no values was asked for; time at least one answer")
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def ratio(theirs: float, ours: float) -> float:
    """How many times as long theirs takes: above 1 we are faster."""
    return theirs / ours


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def timed(ask: Callable[[Question], object], questions: Sequence[Question], *, rounds: int = 3) -> Timing:
    """One system alone."""
    return interleaved({"": ask}, questions, rounds=rounds)[""]


def interleaved(
    systems: Mapping[str, Callable[[Question], object]],
    questions: Sequence[Question],
    *,
    rounds: int = 3,
    seconds_max: float = 60.0,
) -> dict[str, Timing]:
    """Every system answers the same questions, a share of them in each round.

    A system that has used up `seconds_max` gets no further questions; it has answered at least one.
    """
    taken: dict[str, list[float]] = {name: [] for name in systems}
    names = list(systems)
    for number in range(rounds):
        run = questions[number::rounds]
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            _run(systems[name], run, taken[name], seconds_max)
    return {name: Timing.of(seconds) for name, seconds in taken.items()}


def _run(
    ask: Callable[[Question], object], questions: Sequence[Question], taken: list[float], seconds_max: float
) -> None:
    if taken and sum(taken) > seconds_max:
        return
    for question in questions[:WARM_PER_RUN]:
        begun = time.perf_counter()
        ask(question)
        if (time.perf_counter() - begun) * len(questions) > seconds_max:
            break
    for question in questions:
        if taken and sum(taken) > seconds_max:
            return
        begun = time.perf_counter()
        ask(question)
        taken.append(time.perf_counter() - begun)
