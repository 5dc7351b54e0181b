"""Every number of a ranking is finite: a stage that overflows is named, instead of deciding an order by accident.

NaN on the sheet means "no value". A NaN that a stage computed from values that were all there is none of those.
"""

from __future__ import annotations

import math

import numpy as np

from recollect.events.errors import RecollectError
from recollect.projections.columns import BoolArray, FloatArray
from recollect.query.catalogue import inputs_of
from recollect.query.factors.factor import GIVES_NONE
from recollect.query.formula import Formula
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet, Step
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.scoring import Fuse, Weigh
from recollect.query.stages.stage import FactorStage


class NotFinite(RecollectError):
    """A stage gave an infinity or NaN, or could not be computed."""

    def __init__(self, formula: Formula, stage: int, problem: str) -> None:
        title = formula.stages[stage].title
        super().__init__(
            f"stage {stage + 1} ({title}) of formula {formula.name!r} {problem}; its numbers are too large or too "
            f"small: change them, or rank with another formula"
        )


def require_finite(sheet: Sheet, ctx: RankContext, formula: Formula) -> None:
    """Look at what the stage that was just applied wrote: its columns, and the score."""
    stage = formula.stages[sheet.stage]
    for name in formula.written[sheet.stage]:
        column = sheet.columns.get(name)
        if column is not None and _looks_odd(column):
            _require(np.isinf(column) | _lost(stage, column, sheet, ctx), column, sheet, ctx, formula)
    step = sheet.steps[-1] if sheet.steps else None
    if step is not None and step.stage == sheet.stage and _looks_odd(step.after):
        _require(np.isinf(step.after) | _lost_score(stage, step), step.after, sheet, ctx, formula)


def _looks_odd(values: FloatArray) -> bool:
    """Whether some value may not be finite: the sum of their squares is not. One call, for there are many columns."""
    return not math.isfinite(values.dot(values))


def _require(bad: BoolArray, values: FloatArray, sheet: Sheet, ctx: RankContext, formula: Formula) -> None:
    bad = bad & (sheet.kept | np.equal(sheet.dropped_at, sheet.stage))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        memory = ctx.view.documents.ids.values[int(sheet.memories[place])]
        value = "nan" if math.isnan(values[place]) else f"{values[place]:+}".replace("+", "")
        raise NotFinite(formula, sheet.stage, f"gave {value} for memory {memory!r}")


def _lost(stage: AnyStage, column: FloatArray, sheet: Sheet, ctx: RankContext) -> BoolArray:
    """Where a column has no value although there was all to compute one of."""
    missing = np.isnan(column)
    if isinstance(stage, Retrieve):
        return missing & ~np.isnan(sheet.column(f"{stage.column}.rank"))
    if not isinstance(stage, FactorStage) or stage.factor in GIVES_NONE:
        return np.zeros(len(column), dtype=np.bool_)
    for name in inputs_of(stage.factor):
        if name != stage.column:  # an input of the same name was written over
            missing &= ~np.isnan(read(name, sheet, ctx))
    return missing


def _lost_score(stage: AnyStage, step: Step) -> BoolArray:
    """Where there is no score although there was all to compute one of."""
    missing = np.isnan(step.after)
    if not isinstance(stage, (Fuse, Weigh)):  # these make a score where there was none
        missing &= ~np.isnan(step.before)
    if isinstance(stage, Fuse):
        return missing
    for values in step.reads.values():
        missing &= ~np.isnan(values)
    return missing
