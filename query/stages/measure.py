"""measure: a channel's value for every candidate, also those that it did not retrieve."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import FloatArray
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.lexical_stage import LexicalStage
from recollect.query.surroundings import names_of
from recollect.query.words import normal_form


class Measure(LexicalStage, frozen=True, kw_only=True, tag="measure"):
    """lexical: BM25 score (NaN where no word matches); vector: cosine with the question (NaN without vectors);
    context: how many names of the question's context stand in the text, as whole words.
    """

    channel: Literal["lexical", "vector", "context"]
    name: str = ""

    @property
    def title(self) -> str:
        return f"measure {self.name or self.channel}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        question, seq = ctx.question, ctx.view.seq
        values = np.full(len(sheet), np.nan)
        if self.channel == "lexical":
            scores = ctx.view.lexical(self.analyzer).score_rows(
                question.text, sheet.rows, at=seq, bm25=self.bm25
            )
            values = np.where(scores > 0.0, scores, np.nan)
        elif self.channel == "context":
            values = self._names_held(sheet, ctx)
        elif question.vector is not None:
            vectors = ctx.view.vectors
            kept = np.flatnonzero(sheet.kept)
            rows = sheet.rows[kept]
            able = vectors.comparable(rows, at=seq)
            cosines = vectors.cosines(from_bytes(question.vector), rows, at=seq)
            values[kept] = np.where(able, cosines, np.nan)
        sheet.columns[self.name or self.channel] = values

    def _names_held(self, sheet: Sheet, ctx: RankContext) -> FloatArray:
        phrases = [" ".join(ANALYZERS[self.analyzer](name)) for name in names_of(ctx.question.context)]
        wanted = [f" {phrase} " for phrase in dict.fromkeys(phrases) if phrase]
        held = np.zeros(len(sheet))
        for place, row in enumerate(sheet.rows.tolist() if wanted else ()):
            text = f" {normal_form(ctx, row, self.analyzer)} "
            held[place] = sum(phrase in text for phrase in wanted)
        return held
