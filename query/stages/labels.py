"""labels: how much the word that a memory begins with is a label, where the question asks for it."""

from __future__ import annotations

import numpy as np

from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Labels(Stage, frozen=True, kw_only=True, tag="labels"):
    """Writes `name` = (begins(t) / (1 + holds(t)))² where the first term t of the memory's text is a term of the
    question, else 0.

    begins(t) and holds(t) count the kept candidates whose text begins with t, and those that hold it anywhere.
    A word that mostly stands first is a label (who speaks, what a note is about), and a question that names it
    asks for what is under it; a word that stands first by chance is held by many that do not begin with it,
    and the square takes what is left of it away. The 1 keeps a word that a single candidate holds from being
    taken for a sure label.
    """

    name: str = "labels"
    analyzer: str = "english/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "see which memories stand under a label that the question names"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        lexical = ctx.view.lexical(self.analyzer)
        asked = set(ANALYZERS[self.analyzer](ctx.question.text))
        first = lexical.first_terms(sheet.rows)
        named = sorted({term for term in first if term in asked})
        held = lexical.holding(sheet.rows, [(term,) for term in named]) & sheet.kept[:, None]
        values = np.zeros(len(sheet))
        for column, term in enumerate(named):
            begins = np.array([found == term for found in first], dtype=np.bool_)
            share = float((begins & sheet.kept).sum()) / (1.0 + float(held[:, column].sum()))
            values[begins] = share * share
        sheet.columns[self.name] = values
