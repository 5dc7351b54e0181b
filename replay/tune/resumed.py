"""A ranking stopped before a stage, and taken up again as often as that stage has other numbers.

The search changes numbers of late stages alone; what the stages before them find is the same every time. The answer is
that of `rank`, stage for stage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recollect.events.facts import Question
from recollect.projections.vectors.shard_cache import ShardUnavailable
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.ranking import scanning
from recollect.query.sheet import RankContext, Sheet
from recollect.query.stages.ordering import best_first


class Begun(NamedTuple):
    """A question after the stages before `stage`."""

    ctx: RankContext
    sheet: Sheet
    stage: int


def begin(question: Question, view: View, formula: Formula, stage: int) -> Begun:
    """Rank up to a stage; shards that cannot be had are scanned."""
    while True:
        ctx, sheet = RankContext(question, view, formula.dials), Sheet()
        sheet.sources_first = formula.sources_first
        try:
            _apply(formula, range(stage), sheet, ctx)
        except ShardUnavailable as error:
            question = scanning(question, error)
        else:
            return Begun(ctx, sheet, stage)


def go_on(begun: Begun, formula: Formula, stage: int) -> Begun:
    """Apply some more stages to the question."""
    sheet = begun.sheet.copy()
    _apply(formula, range(begun.stage, stage), sheet, begun.ctx)
    return Begun(begun.ctx, sheet, stage)


def order_of(begun: Begun, formula: Formula) -> list[str]:
    """The ids of all candidates in the order that the formula gives, whose first stages are those it was begun with."""
    sheet = begun.sheet.copy()
    _apply(formula, range(begun.stage, len(formula.stages)), sheet, begun.ctx)
    ids = begun.ctx.view.documents.ids.values
    return [ids[memory] for memory in sheet.memories[best_first(sheet, begun.ctx)].tolist()]


def _apply(formula: Formula, numbers: range, sheet: Sheet, ctx: RankContext) -> None:
    """Apply stages as `rank` does."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for number in numbers:
            stage = formula.stages[number]
            if sheet.jump and stage.label != sheet.jump:
                continue
            sheet.jump = ""
            if stage.enabled and ctx.dial(stage.when) != 0.0:
                sheet.stage = number
                stage.apply(sheet, ctx)
