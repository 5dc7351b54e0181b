"""rank: a pure function of question, view and formula. No clock, no model, no disk, no luck."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from recollect.events.facts import Question
from recollect.projections.rounding import round12
from recollect.projections.vectors.shard_cache import ShardUnavailable
from recollect.projections.view import View
from recollect.query.finite import NotFinite, require_finite
from recollect.query.formula import Formula
from recollect.query.prefetch import begin
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.ordering import best_first

Observe = Callable[[int, Sheet, RankContext], None]


class Ranking(NamedTuple):
    """Ids and scores in order, where they came from, and the sheet that explains them.

    `order` has the places of all candidates that are still in, beyond the k that are returned.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    basis: int
    formula: str
    places: tuple[int, ...]
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
    ctx.prefetch = begin(ctx, formula) if prefetch else None
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # `finite` looks at the numbers
            sheet = _apply_stages(ctx, formula, observe, finite=finite)
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
        places=tuple(places),
        order=tuple(order),
        sheet=sheet,
    )


def rank_around(
    question: Question, view: View, formula: Formula, *, prefetch: bool = False, finite: bool = True
) -> tuple[Question, Ranking]:
    """Rank; where shards cannot be had their rows are scanned, and the question that is returned says which."""
    while True:
        try:
            return question, rank(question, view, formula, prefetch=prefetch, finite=finite)
        except ShardUnavailable as error:
            scanned = question.effects.scanned
            if error.digest in scanned:
                raise
            effects = msgspec.structs.replace(
                question.effects, scanned=tuple(sorted((*scanned, error.digest)))
            )
            question = msgspec.structs.replace(question, effects=effects)


def _apply_stages(ctx: RankContext, formula: Formula, observe: Observe | None, *, finite: bool) -> Sheet:
    """The sheet after all stages; a shortcut skips those before the label that it jumps to."""
    sheet = Sheet()
    sheet.facts.update(ctx.positions)
    for number, stage in enumerate(formula.stages):
        if sheet.jump and stage.label != sheet.jump:
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
    return sheet
