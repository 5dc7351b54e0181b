"""Turning one number until a memory passes its rival.

The stages from the changed one on are applied again to what the two candidates read. Batch constants (a
maximum, a minimum) and all other values stay as they were. Scores are piecewise linear and monotone in every
number that a stage reads, so the turning point is where a straight line says, or else found by bisection.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import msgspec

from recollect.projections.portable_math import round12
from recollect.query.explain.case import CandidateStep, Case
from recollect.query.explanation import carry
from recollect.query.factors.factor import Range
from recollect.query.stages.scoring import Add
from recollect.query.stages.stage import ScoringStage

_RANK_MAX = 1_000
_REACH = 8_192.0
_SMALLEST = 1.0 / 1_024.0
_HALVINGS = 80
_PRECISION = 1e-12


class Knob(NamedTuple):
    """One number that can be turned: in the reads of the memory alone, or in the formula.

    `current` is what the stage (counted from 0) read. A weight is read after dials and normalisation;
    `parameter` is how it is written in the formula or the question. It cannot leave its range.
    """

    kind: Literal["factor", "weight"]
    number: int
    name: str
    current: float
    parameter: float
    range: Range

    def written(self, value: float) -> float:
        """What has to be written so that the stage reads `value`."""
        return value if self.kind == "factor" else self.parameter * (value / self.current)


class Rescoring:
    """The scores of the memory and of its rival with one number changed."""

    def __init__(self, case: Case, rival: int) -> None:
        self._formula = case.formula
        self._own = case.own_steps
        self._rival = case.steps(case.ranking.order[rival])

    def scores(self, knob: Knob, value: float) -> tuple[float, float]:
        own = self._score(self._own, knob, value)
        rival = self._score(self._rival, knob, value) if knob.kind == "weight" else self._rival[-1].after
        return own, rival

    def lead(self, knob: Knob, value: float) -> float:
        """How far the memory is ahead of its rival, in the digits that are compared."""
        own, rival = self.scores(knob, value)
        return round12(own) - round12(rival)

    def _score(self, steps: list[CandidateStep], knob: Knob, value: float) -> float:
        """The score with the change; one that never met the changed stage keeps its own."""
        changed = next((place for place, step in enumerate(steps) if step.number == knob.number), len(steps))
        score = steps[changed].before if changed < len(steps) else steps[-1].after
        for step in steps[changed:]:
            stage, reads = self._formula.stages[step.number], step.reads
            assert isinstance(stage, ScoringStage)
            if step.number == knob.number:
                if isinstance(stage, Add) and knob.name == "scale":
                    stage = msgspec.structs.replace(stage, scale=value)
                else:
                    reads = {**reads, knob.name: value}
            score = carry(stage, score, reads)
        return score


def nearest(knob: Knob, rescoring: Rescoring) -> float | None:
    """The value nearest to the current one with which the memory passes its rival; None if no value in range does."""
    if knob.name.endswith(".rank"):
        return _better_rank(knob, rescoring)
    if math.isnan(knob.current):
        return None
    reach = _REACH * max(abs(knob.current), _SMALLEST)
    low, high = max(knob.current - reach, knob.range[0]), min(knob.current + reach, knob.range[1])
    ends = [end for end in (low, high) if end != knob.current and rescoring.lead(knob, end) > 0.0]
    found = [_flip_point(knob, rescoring, end) for end in ends]
    return min(found, key=lambda value: abs(value - knob.current), default=None)


def _better_rank(knob: Knob, rescoring: Rescoring) -> float | None:
    """The worst rank above the current one that would do; ranks are whole numbers."""
    low, high = 1, _RANK_MAX if math.isnan(knob.current) else int(knob.current) - 1
    if high < low or not rescoring.lead(knob, float(low)) > 0.0:
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if rescoring.lead(knob, float(middle)) > 0.0 else (low, middle - 1)
    return float(low)


def _flip_point(knob: Knob, rescoring: Rescoring, enough: float) -> float:
    """Between the current value, which does not pass, and one that does."""
    guess = _on_the_line(knob, rescoring, enough)
    still = knob.current
    if guess is not None:
        nudge = math.copysign(_PRECISION * 8.0 * max(abs(guess), abs(knob.current)), enough - knob.current)
        point = min(guess + nudge, enough) if nudge > 0.0 else max(guess + nudge, enough)
        if rescoring.lead(knob, point) > 0.0 >= rescoring.lead(knob, guess - nudge):
            return point
    for _ in range(_HALVINGS):
        middle = still + (enough - still) / 2.0
        if abs(enough - still) <= _PRECISION * max(abs(enough), abs(still)):
            break
        still, enough = (still, middle) if rescoring.lead(knob, middle) > 0.0 else (middle, enough)
    return enough


def _on_the_line(knob: Knob, rescoring: Rescoring, enough: float) -> float | None:
    """Where the lead would be 0 if it grew evenly from the current value on."""
    own, rival = rescoring.scores(knob, knob.current)
    far_own, far_rival = rescoring.scores(knob, enough)
    rise = (far_own - far_rival) - (own - rival)
    if not (math.isfinite(rise) and rise > 0.0):
        return None
    return knob.current + (enough - knob.current) * ((rival - own) / rise)
