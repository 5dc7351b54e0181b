"""leads: whether a memory begins with a word of the question."""

from __future__ import annotations

import numpy as np

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Leads(Stage, frozen=True, kw_only=True, tag="leads"):
    """Writes `name` = 1 where the first term of the memory's text is a term of the question, else 0.

    What a text begins with is often what or whom it is about: the speaker of a turn, the title of a note.
    """

    name: str = "leads"
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "see which memories begin with a word of the question"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        asked = set(ANALYZERS[self.analyzer](ctx.question.text))
        first = ctx.view.lexical(self.analyzer).first_terms(sheet.rows)
        sheet.columns[self.name] = np.array([float(term in asked) for term in first])
