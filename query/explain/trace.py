"""A trace: what the sheet said of one memory after each stage, noted while the ranking is made.

Columns may be written over by later stages, so what a stage saw is noted when it has just been applied.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from recollect.query.formula import Formula
from recollect.query.inputs import read
from recollect.query.sheet import RankContext, Sheet
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.filtering import Abstain, Filter, Silence
from recollect.query.stages.measuring import RankBy
from recollect.query.stages.ordering import TieBreak
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.stage import FactorStage


class Moment(NamedTuple):
    """After one stage: how many candidates there are, the memory's columns, and what the stage looked at."""

    candidates: int
    columns: dict[str, float]
    inputs: dict[str, float]


class Given(NamedTuple):
    """What a retrieving stage gave: how many, the value of the last, the memory's own rank and value."""

    number: int
    stage: Retrieve
    found: int
    last: float
    rank: float
    value: float


class Trace:
    """`moments` by the number (from 0) of each stage that was applied; `given` in the order of the stages."""

    def __init__(self, formula: Formula, memory: int) -> None:
        self._formula = formula
        self._memory = memory
        self.moments: dict[int, Moment] = {}
        self.given: list[Given] = []

    def __call__(self, number: int, sheet: Sheet, ctx: RankContext) -> None:
        stage, place = self._formula.stages[number], sheet.place(self._memory)
        columns: dict[str, float] = {}
        inputs: dict[str, float] = {}
        if place >= 0:
            values = {name: float(column[place]) for name, column in sheet.columns.items()}
            columns = {name: value for name, value in values.items() if not math.isnan(value)}
            inputs = {name: float(read(name, sheet, ctx)[place]) for name in looks_at(stage)}
        self.moments[number] = Moment(len(sheet), columns, inputs)
        if isinstance(stage, Retrieve):
            self.given.append(self._retrieved(number, stage, sheet, place))

    def _retrieved(self, number: int, stage: Retrieve, sheet: Sheet, place: int) -> Given:
        ranks, values = sheet.column(f"{stage.column}.rank"), sheet.column(stage.column)
        found = int(np.nanmax(ranks, initial=0.0)) if len(sheet) else 0
        last = float(values[ranks == found][0]) if found else math.nan
        rank, value = (math.nan, math.nan) if place < 0 else (float(ranks[place]), float(values[place]))
        return Given(number, stage, found, last, rank, value)

    def came_at(self, place: int) -> int:
        """The stage that made a candidate of what stands at this place: places are given in order."""
        return next(number for number, moment in self.moments.items() if place < moment.candidates)


def looks_at(stage: AnyStage) -> tuple[str, ...]:
    """The inputs and columns that a stage decides by, beside what it says it reads."""
    match stage:
        case FactorStage():
            return stage.sources
        case Filter(by=by) | RankBy(by=by):
            return (by,)
        case Abstain(any_of=any_of):
            return ("score", *sorted(any_of))
        case Silence(below=below):
            return tuple(sorted(below))
        case TieBreak(by=columns):
            return columns
        case _:
            return ()
