"""The search: one number after the other, each over a grid, finer in every round. No chance, so the same every time.

    value(x) = sure gain(x) − pull · mean(((x − start) / width of its range)²)

The gain over the start counts as far as it is sure (`tuning.Estimate`); the pull is slight, and lets the values nearest to
the start win among equally good ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from recollect.query.free_numbers import FreeNumber

POINTS = 7
ROUNDS = 3
PULL = 0.002
_DIGITS = 4


class Estimate(NamedTuple):
    """How good some values are, and by how much they are surely better than the start."""

    objective: float
    sure_gain: float


Objective = Callable[[tuple[float, ...], int], Estimate]


class Trial(NamedTuple):
    """What was tried: the values, how good they are on the earlier part, and the best so far."""

    values: tuple[float, ...]
    objective: float
    best: float


def search(
    free: Sequence[FreeNumber], start: tuple[float, ...], objective: Objective
) -> tuple[tuple[float, ...], tuple[Trial, ...]]:
    """The best values found, and all trials in order; the objective is told which number is being changed."""
    trials: list[Trial] = []
    known: dict[tuple[float, ...], float] = {}

    def value(values: tuple[float, ...], place: int) -> float:
        if values not in known:
            found = objective(values, place)
            known[values] = found.sure_gain - PULL * _distance(free, start, values)
            best_yet = max(found.objective, trials[-1].best) if trials else found.objective
            trials.append(Trial(values, found.objective, best_yet))
        return known[values]

    best = start
    value(best, 0)
    for round_ in range(ROUNDS):
        for place, number in enumerate(free):
            tried = [_with(best, place, x) for x in grid(number, best[place], round_)]
            best = max([best, *tried], key=lambda values: value(values, place))
    return best, tuple(trials)


def most_trials(free: Sequence[FreeNumber]) -> int:
    return 1 + ROUNDS * POINTS * len(free)


def grid(number: FreeNumber, around: float, round_: int) -> list[float]:
    """The whole range first; then a third of it around the best, and a third of that."""
    width = (number.high - number.low) / 3**round_
    low = number.low if round_ == 0 else max(number.low, around - width / 2.0)
    high = number.high if round_ == 0 else min(number.high, around + width / 2.0)
    return [rounded(low + (high - low) * step / (POINTS - 1)) for step in range(POINTS)]


def rounded(value: float) -> float:
    """To four digits: a file is read by people, and the evidence knows no more."""
    return float(f"{value:.{_DIGITS}g}")


def _with(values: tuple[float, ...], place: int, value: float) -> tuple[float, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _distance(free: Sequence[FreeNumber], start: tuple[float, ...], values: tuple[float, ...]) -> float:
    moves = [(b - a) / (n.high - n.low) for n, a, b in zip(free, start, values, strict=True)]
    return sum(move * move for move in moves) / len(moves)
