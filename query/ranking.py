"""rank: a pure function of question, view and formula. No clock, no model, no disk, no luck."""

from __future__ import annotations

import math
from typing import NamedTuple

from recollect.events.facts import Question
from recollect.projections.rounding import round12
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet


class Ranking(NamedTuple):
    """Ids and scores in order, where they came from, and the sheet that explains them."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    basis: int
    formula: str
    places: tuple[int, ...]
    sheet: Sheet


def rank(question: Question, view: View, formula: Formula) -> Ranking:
    """Apply the formula's stages to an empty sheet; the best k by (score rounded to 12 digits, id)."""
    sheet = Sheet()
    scene = Scene(question, view)
    for stage in formula.stages:
        if stage.enabled:
            stage.apply(sheet, scene)
    ids = view.documents.ids.values
    order = sorted(
        (-round12(score), ids[memory], place)
        for place, (score, memory, kept) in enumerate(
            zip(sheet.score.tolist(), sheet.memories.tolist(), sheet.kept.tolist(), strict=True)
        )
        if kept and not math.isnan(score)
    )[: question.k]
    return Ranking(
        ids=tuple(id_ for _, id_, _ in order),
        scores=tuple(-score for score, _, _ in order),
        basis=view.seq,
        formula=formula.label,
        places=tuple(place for _, _, place in order),
        sheet=sheet,
    )
