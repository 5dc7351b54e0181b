"""What a score is made of: amounts that add up to it, each from one column of one stage.

Stages are applied one after the other. What a column of a stage gives is the score with it less the score without it;
a stage that multiplies cuts what was there (or lifts it); one that weighs or normalises the score itself rescales what
came before. Where the columns of a stage cannot be told apart (a cap, a maximum), they are one part under all their
names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from recollect.query.explain.case import CandidateStep
from recollect.query.explanation import carry
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.stage import ScoringStage

_NO_COLUMN = frozenset({"min", "max", "value", "score"})
_ASIDE = (".weight", ".max", ".min")
_CLOSE = 1e-9


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """So much of a score, of this column (or these) as the stage of this number read it; `factor` if it multiplied."""

    number: int
    op: str
    column: str
    amount: float
    factor: float | None = None


def contributions(stages: Sequence[AnyStage], steps: Iterable[CandidateStep]) -> tuple[Contribution, ...]:
    """The parts of one candidate's score, in the order of the stages; they sum to the score it ended with."""
    parts: list[Contribution] = []
    for step in steps:
        stage = stages[step.number]
        assert isinstance(stage, ScoringStage)
        parts = _after(stage, step, parts)
    return tuple(part for part in parts if part.amount != 0.0)


def _after(stage: ScoringStage, step: CandidateStep, parts: list[Contribution]) -> list[Contribution]:
    before = 0.0 if math.isnan(step.before) else step.before
    columns = _columns(step.reads)
    slope = _slope(stage, step, before)
    if slope is None:  # not a straight line in the score before: one part
        return [*parts, _part(stage, step, columns, step.after - before)]
    own = step.after - slope * before
    if columns and before and abs(own) <= _CLOSE * max(1.0, abs(step.after)):
        cut = _part(stage, step, columns, step.after - before)
        return [*parts, msgspec.structs.replace(cut, factor=slope)]
    kept = [msgspec.structs.replace(part, amount=part.amount * slope) for part in parts] if slope else []
    return [*kept, *_split(stage, step, columns, own)]


def _split(stage: ScoringStage, step: CandidateStep, columns: list[str], own: float) -> list[Contribution]:
    """What a stage added, column by column if these sums are what it added."""
    single = [_part(stage, step, [name], step.after - _without(stage, step, name)) for name in columns]
    if single and abs(math.fsum(part.amount for part in single) - own) <= _CLOSE * max(1.0, abs(own)):
        return single
    return [_part(stage, step, columns, own)]


def _part(stage: ScoringStage, step: CandidateStep, columns: list[str], amount: float) -> Contribution:
    op = str(stage.__struct_config__.tag)
    return Contribution(number=step.number + 1, op=op, column=" · ".join(columns) or op, amount=amount)


def _columns(reads: Mapping[str, float]) -> list[str]:
    names = (name for name in reads if name not in _NO_COLUMN and not name.endswith(_ASIDE))
    return list(dict.fromkeys(name.removesuffix(".rank") for name in names))


def _without(stage: ScoringStage, step: CandidateStep, column: str) -> float:
    """The score after the stage if this column had nothing to say."""
    silenced = {column: 0.0, f"{column}.rank": math.nan}
    reads = {name: silenced.get(name, value) for name, value in step.reads.items()}
    return carry(stage, step.before, reads)


def _slope(stage: ScoringStage, step: CandidateStep, before: float) -> float | None:
    """How much of the score before is in the score after; None if that is not a straight line."""
    if before == 0.0:
        return 0.0 if math.isnan(step.before) else 1.0
    points = [carry(stage, factor * before, step.reads) for factor in (0.0, 0.5, 1.0)]
    slope = (points[2] - points[0]) / before
    straight = abs((points[0] + points[2]) / 2 - points[1]) <= _CLOSE * max(1.0, abs(points[2]))
    return slope if straight and math.isfinite(slope) else None
