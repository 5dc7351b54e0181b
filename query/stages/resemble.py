"""resemble: how alike the beginnings of question and memory are, letter by letter."""

from __future__ import annotations

import numpy as np

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.bounds import Count, Share
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage
from recollect.query.words import normal_form


class Resemble(Stage, frozen=True, kw_only=True, tag="resemble"):
    """trigram(d) = |A ∩ B| / |A ∪ B| of the character trigrams of both, none below `min`.

    Only the first `characters` of each text count, in normal form: the analyzer's terms, joined by spaces. A
    question with fewer than `trigrams_min` resembles nothing.
    """

    min: Share = 0.60
    characters: Count = 200
    trigrams_min: Count = 5
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return f"resemble by trigrams (from {self.min:g})"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        wanted = self._trigrams(" ".join(ANALYZERS[self.analyzer](ctx.question.text)))
        values = np.full(len(sheet), np.nan)
        if len(wanted) >= self.trigrams_min:
            for place in np.flatnonzero(sheet.kept).tolist():
                values[place] = self._likeness(ctx, int(sheet.rows[place]), wanted)
        sheet.columns["trigram"] = values

    def _likeness(self, ctx: RankContext, row: int, wanted: frozenset[str]) -> float:
        text = normal_form(ctx, row, self.analyzer)[: self.characters]
        shared = sum(trigram in text for trigram in wanted)
        if shared < self.min * len(wanted):  # the union is no smaller than the question's own trigrams
            return np.nan
        likeness = shared / len(wanted | self._trigrams(text))
        return likeness if likeness >= self.min else np.nan

    def _trigrams(self, text: str) -> frozenset[str]:
        start = text[: self.characters]
        return frozenset(start[i : i + 3] for i in range(len(start) - 2))
