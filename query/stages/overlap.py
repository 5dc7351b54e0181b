"""overlap: how many of the question's words each candidate holds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage
from recollect.query.text.stems import family
from recollect.query.words import words_of


class Overlap(Stage, frozen=True, kw_only=True, tag="overlap"):
    """word_ratio(d) = share of the question's words in the text; word_overlap(d) = in the text or the tags.

    A word is held if the memory has a word with the same stem: whole words are compared, after at most one of
    `suffixes` was taken off. Words of one or two letters do not count. Candidates that have the columns
    already keep them, so the stage may stand again after others have come.
    """

    suffixes: tuple[str, ...] = ()
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest

    @property
    def title(self) -> str:
        return "overlap with the question's words"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        words = words_of(ctx.question.text, self.analyzer)
        families = list(dict.fromkeys(family(word, self.suffixes) for word in words))
        fresh = np.flatnonzero(np.isnan(sheet.column("word_overlap"))).astype(np.int32)
        held = ctx.view.lexical(self.analyzer).holding(sheet.rows[fresh], families)
        count = float(len(families) or 1)
        sheet.write("word_ratio", fresh, held.sum(axis=1) / count)
        columns = ctx.lifecycle(sheet)
        for place, tags in enumerate(columns.members(columns.tags[fresh])):
            if tags:
                tagged = _words_of_tags(tags, self.analyzer)
                held[place] |= np.array([not tagged.isdisjoint(words) for words in families], dtype=np.bool_)
        sheet.write("word_overlap", fresh, held.sum(axis=1) / count)


@lru_cache(maxsize=4096)
def _words_of_tags(tags: tuple[str, ...], analyzer: str) -> frozenset[str]:
    return frozenset(words_of(" ".join(tags), analyzer))
