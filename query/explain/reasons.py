"""What put a memory ahead of the next one, or behind: the numbers in which the two differ, largest effect first.

Each number that a scoring stage read of the memory is replaced by the other's, one at a time, and the stages are applied
again: what the score loses by that is the number's effect. Numbers under one name (a channel and its rank) count together.
A memory alone is compared with nothing: 0 in the place of each number (1 where it multiplies), no rank in the place of a
rank.
"""

from __future__ import annotations

import math

from recollect.projections.portable_math import round12
from recollect.query.explain.case import CandidateStep, Case, is_of_the_memory
from recollect.query.explanation import Reason, carry
from recollect.query.formula import Formula
from recollect.query.stages.scoring import Multiply
from recollect.query.stages.stage import ScoringStage, Stage
from recollect.query.versions import unversioned

_REASONS_MAX = 3
_SHARE_MIN = 0.1


def reasons(case: Case, rival: int | None) -> tuple[Reason, ...]:
    """The two or three largest reasons against the candidate at a position; without a rival if `rival` is None."""
    if case.position is None or not case.own_steps:
        return ()
    other = {} if rival is None else {s.number: s.reads for s in case.steps(case.ranking.order[rival])}
    ahead = rival is None or case.position < rival
    found: dict[str, Reason] = {}
    for place, step in enumerate(case.own_steps):
        for name, own in step.reads.items():
            if is_of_the_memory(name):
                nothing = _nothing(case.formula.stages[step.number], name)
                there = other.get(step.number, {}).get(name, math.nan)
                reason = _reason(case, place, name, own, nothing if rival is None else there)
                found[reason.name] = _together(found.get(reason.name), reason)
    sign = 1.0 if ahead else -1.0
    spoken = sorted((r for r in found.values() if r.effect * sign > 0.0), key=lambda r: -r.effect * sign)
    largest = abs(spoken[0].effect) if spoken else 0.0
    return tuple(r for r in spoken[:_REASONS_MAX] if abs(r.effect) >= _SHARE_MIN * largest)


def _nothing(stage: Stage, name: str) -> float:
    """What leaves a score as it is."""
    if name.endswith(".rank"):
        return math.nan
    return 1.0 if isinstance(stage, Multiply) else 0.0


def _reason(case: Case, place: int, name: str, own: float, other: float) -> Reason:
    same = own == other or (math.isnan(own) and math.isnan(other))
    effect = (
        0.0
        if same
        else case.own_steps[-1].after - _rescored(case.formula, case.own_steps, place, name, other)
    )
    return Reason(
        name=unversioned(name.removesuffix(".rank")),
        number=case.own_steps[place].number + 1,
        rank=name.endswith(".rank"),
        own=None if math.isnan(own) else own,
        other=None if math.isnan(other) else other,
        effect=round12(effect) if math.isfinite(effect) else 0.0,
    )


def _together(before: Reason | None, reason: Reason) -> Reason:
    if before is None:
        return reason
    first, second = (before, reason) if abs(before.effect) >= abs(reason.effect) else (reason, before)
    return Reason(
        name=first.name, number=first.number, rank=first.rank, own=first.own, other=first.other,
        effect=round12(first.effect + second.effect),
    )  # fmt: skip


def _rescored(formula: Formula, steps: list[CandidateStep], place: int, name: str, value: float) -> float:
    score = steps[place].before
    for number, step in enumerate(steps[place:], place):
        stage = formula.stages[step.number]
        assert isinstance(stage, ScoringStage)
        score = carry(stage, score, {**step.reads, name: value} if number == place else step.reads)
    return score
