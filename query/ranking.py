"""rank: a pure function of question, view and formula. No clock, no model, no disk, no randomness.

Every number of a ranking is finite: a stage that overflows is named, instead of deciding an order by accident. NaN on
the sheet means "no value"; a NaN that a stage computed from values that were all there is an error like an infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from recollect.events.errors import RecollectError
from recollect.events.facts import Question
from recollect.projections.columns import BoolArray, FloatArray
from recollect.projections.portable_math import round12
from recollect.projections.vectors.shard_cache import ShardUnavailable
from recollect.projections.view import View
from recollect.query.factors.factor import GIVES_NONE
from recollect.query.formula import Formula
from recollect.query.inputs import read
from recollect.query.sheet import RankContext, Sheet, Step
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.ordering import best_first
from recollect.query.stages.retrieving import Retrieve, start_prefetch
from recollect.query.stages.scoring import Fuse, Weigh
from recollect.query.stages.stage import FactorStage

Observe = Callable[[int, Sheet, RankContext], None]


class Ranking(NamedTuple):
    """Ids and scores in order, where they came from, and the sheet that explains them.

    `order` has the places of all candidates that are still in, beyond the k that are returned.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    basis: int
    formula: str
    order: tuple[int, ...]
    sheet: Sheet


def rank(
    question: Question, view: View, formula: Formula, *, observe: Observe | None = None, prefetch: bool = False,
    finite: bool = True,
) -> Ranking:  # fmt: skip
    """Apply the formula's stages to an empty sheet; the best k by (score to 12 digits, id).

    `observe` is shown the sheet after every stage that was applied, with the stage's number; it only looks. With
    `prefetch` a second core may search the vectors while this one searches the words; the ranking is the same.
    A stage that gives an infinity or NaN is an error; only what was recorded before that rule is ranked again
    without it (`finite=False`).
    """
    ctx = RankContext(question, view, formula.dials)
    sheet = Sheet(sources_first=formula.sources_first)
    sheet.facts.update(ctx.positions)
    ctx.prefetch = start_prefetch(ctx, formula.stages) if prefetch else None
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # `finite` looks at the numbers
            for number, stage in enumerate(formula.stages):
                if sheet.jump and stage.label != sheet.jump:  # a shortcut skips the stages before its label
                    continue
                sheet.jump = ""
                if not stage.enabled or ctx.dial(stage.when) == 0.0:
                    continue
                sheet.stage = number
                try:
                    stage.apply(sheet, ctx)
                except ArithmeticError as error:
                    raise NotFinite(formula, number, f"cannot be computed ({error})") from None
                if finite:
                    require_finite(sheet, ctx, formula)
                if observe is not None:
                    observe(number, sheet, ctx)
    finally:
        if ctx.prefetch is not None:
            ctx.prefetch.wait()
    order = best_first(sheet, ctx)
    places = order[: question.k]
    ids = view.documents.ids.values
    return Ranking(
        ids=tuple(ids[memory] for memory in sheet.memories[places].tolist()),
        scores=tuple(round12(value) for value in sheet.score[places].tolist()),
        basis=view.seq,
        formula=formula.label,
        order=tuple(order),
        sheet=sheet,
    )


def rank_around(
    question: Question, view: View, formula: Formula, *, prefetch: bool = False, finite: bool = True
) -> tuple[Question, Ranking]:
    """Rank; the rows of unavailable shards are scanned, and the returned question names these shards."""
    while True:
        try:
            return question, rank(question, view, formula, prefetch=prefetch, finite=finite)
        except ShardUnavailable as error:
            question = scanning(question, error)


def scanning(question: Question, unavailable: ShardUnavailable) -> Question:
    """The question whose ranking scans the rows of this shard too; raise if it does already."""
    scanned = question.effects.scanned
    if unavailable.digest in scanned:
        raise unavailable
    effects = msgspec.structs.replace(question.effects, scanned=tuple(sorted((*scanned, unavailable.digest))))
    return msgspec.structs.replace(question, effects=effects)


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
        if column is not None and _may_not_be_finite(column):
            _require(
                np.isinf(column) | _missing_values(stage, column, sheet, ctx), column, sheet, ctx, formula
            )
    step = sheet.steps[-1] if sheet.steps else None
    if step is not None and step.stage == sheet.stage and _may_not_be_finite(step.after):
        _require(np.isinf(step.after) | _missing_scores(stage, step), step.after, sheet, ctx, formula)


def _may_not_be_finite(values: FloatArray) -> bool:
    """Whether some value may not be finite: the sum of their squares is not. One call, for there are many columns."""
    return not math.isfinite(values.dot(values))


def _require(bad: BoolArray, values: FloatArray, sheet: Sheet, ctx: RankContext, formula: Formula) -> None:
    bad = bad & (sheet.kept | np.equal(sheet.dropped_at, sheet.stage))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        memory = ctx.view.documents.ids.values[int(sheet.memories[place])]
        value = "nan" if math.isnan(values[place]) else f"{values[place]:+}".replace("+", "")
        raise NotFinite(formula, sheet.stage, f"gave {value} for memory {memory!r}")


def _missing_values(stage: AnyStage, column: FloatArray, sheet: Sheet, ctx: RankContext) -> BoolArray:
    """Where a column has no value although every input for it had one."""
    missing = np.isnan(column)
    if isinstance(stage, Retrieve):
        return missing & ~np.isnan(sheet.column(f"{stage.column}.rank"))
    if not isinstance(stage, FactorStage) or stage.factor in GIVES_NONE:
        return np.zeros(len(column), dtype=np.bool_)
    for name in stage.sources:
        if name != stage.column:  # an input of the same name was written over
            missing &= ~np.isnan(read(name, sheet, ctx))
    return missing


def _missing_scores(stage: AnyStage, step: Step) -> BoolArray:
    """Where there is no score although every input for it had a value."""
    missing = np.isnan(step.after)
    if not isinstance(stage, (Fuse, Weigh)):  # these make a score where there was none
        missing &= ~np.isnan(step.before)
    if isinstance(stage, Fuse):
        return missing
    for values in step.reads.values():
        missing &= ~np.isnan(values)
    return missing
