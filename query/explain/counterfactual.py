"""The smallest change of one number that would have lifted a memory above its neighbour.

The neighbour of a hit is the one above it, that of a memory below the k asked for is the last hit. Every number
that the stages read of the memory, and every weight, is turned until the memory passes (`flip_point`); the
smallest change relative to the current value is the answer. It counts only if the order that it makes has the
memory above its neighbour; a weight moves every candidate, so for one that order is ranked again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy

import msgspec

from recollect.events.facts import Question
from recollect.projections.portable_math import round12
from recollect.query.catalogue import range_of
from recollect.query.explain.case import Case, is_of_the_memory
from recollect.query.explain.flip_point import Knob, Rescoring, nearest
from recollect.query.explanation import Counterfactual
from recollect.query.factors.factor import UNBOUNDED, Range
from recollect.query.formula import Formula
from recollect.query.ranking import rank
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.ordering import best_first
from recollect.query.stages.scoring import Add, Fuse, Weigh
from recollect.query.stages.stage import FactorStage


def counterfactual(case: Case) -> Counterfactual | None:
    """None at the top, for what was no candidate to the end, and where another order than scores decided."""
    if not case.position or case.sheet.order:
        return None
    rival = min(case.position, case.question.k) - 1
    rescoring = Rescoring(case, rival)
    needed = ((knob, nearest(knob, rescoring)) for knob in _knobs(case))
    found = [(knob, value) for knob, value in needed if value is not None]
    for knob, value in sorted(found, key=lambda pair: _size(*pair)):
        score = rescoring.scores(knob, value)[0]
        if _lifts(case, score, rival) if knob.kind == "factor" else _holds(case, knob, value, rival):
            return Counterfactual(
                kind=knob.kind,
                number=knob.number + 1,
                name=knob.name,
                current=None if math.isnan(knob.parameter) else knob.parameter,
                needed=knob.written(value),
                above=case.id_at(rival),
                score=round12(score),
            )
    return None


def _lifts(case: Case, score: float, rival: int) -> bool:
    """Whether the memory stands above its rival in the order that it has with this score."""
    sheet = copy(case.sheet)
    sheet.score = case.sheet.score.copy()
    sheet.score[case.place] = score
    order = best_first(sheet, case.ctx)
    return order.index(case.place) < order.index(case.ranking.order[rival])


def _size(knob: Knob, needed: float) -> float:
    """How large a change is, relative to the current value and to the digits that bisection gives."""
    if math.isnan(knob.current) or knob.current == 0.0:
        return math.inf
    return float(f"{abs(needed - knob.current) / abs(knob.current):.6g}")


def _knobs(case: Case) -> Iterator[Knob]:
    for step in case.own_steps:
        stage = case.formula.stages[step.number]
        for name, value in step.reads.items():
            if name.endswith(".weight"):
                written = _written(case.question, stage, name.removesuffix(".weight"))
                if written is not None and value > 0.0:
                    yield Knob("weight", step.number, name, value, written, (0.0, math.inf))
            elif is_of_the_memory(name):
                yield Knob("factor", step.number, name, value, value, _range(stage, name, value))
        if isinstance(stage, Add) and stage.scale != 0.0:
            yield Knob("weight", step.number, "scale", stage.scale, stage.scale, UNBOUNDED)


def _range(stage: AnyStage, name: str, value: float) -> Range:
    """The range of what a stage reads; a column that is not negative is taken to stay so."""
    low, high = UNBOUNDED
    if isinstance(stage, FactorStage) and stage.column == name:
        low, high = range_of(stage.factor, stage.parameters)
    return (max(low, 0.0), high) if value >= 0.0 else (low, high)


# --- weights ---------------------------------------------------------------------------------------


def _written(question: Question, stage: AnyStage, column: str) -> float | None:
    """A weight as the formula, or the question that brings its own, has it."""
    match stage:
        case Weigh(overridable=True) if question.context.weights:
            return question.context.weights.get(column)
        case Weigh(weights=weights):
            return weights.get(column)
        case Fuse(weights=weights):
            return weights.get(column, 1.0)
        case _:
            return None


def _holds(case: Case, knob: Knob, value: float, rival: int) -> bool:
    """Whether ranking again with the changed weight puts the memory above its rival."""
    written = knob.written(value)
    question, formula = with_weight(case.question, case.formula, knob.number, knob.name, written)
    again = rank(question, case.view, formula)
    memories = (case.memory, int(case.sheet.memories[case.ranking.order[rival]]))
    places = (again.sheet.place(memory) for memory in memories)
    own, other = (again.order.index(place) if place in again.order else math.inf for place in places)
    return own < other


def with_weight(
    question: Question, formula: Formula, number: int, name: str, value: float
) -> tuple[Question, Formula]:
    """The same with another weight in one stage (counted from 0), or in the question if it brings its own."""
    stage, column = formula.stages[number], name.removesuffix(".weight")
    replace = msgspec.structs.replace
    match stage:
        case Weigh(overridable=True) if question.context.weights:
            weights = {**question.context.weights, column: value}
            return replace(question, context=replace(question.context, weights=weights)), formula
        case Weigh() | Fuse():
            stage = replace(stage, weights={**stage.weights, column: value})
        case Add():
            stage = replace(stage, scale=value)
        case _:
            raise AssertionError(f"stage {number + 1} has no weight {name!r}")
    stages = (*formula.stages[:number], stage, *formula.stages[number + 1 :])
    return question, replace(formula, stages=stages)
