"""deduplicate: of candidates that say the same, the best stays."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.query.bounds import Count, Share
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import Stage
from recollect.query.words import normal_form


class Deduplicate(Stage, frozen=True, kw_only=True, tag="deduplicate"):
    """by = "vector": cosine ≥ threshold to a better candidate; by = "text": the same first characters.

    Text is compared in normal form: the analyzer's terms joined by spaces; one without terms is like no other. Only the best `among` are
    compared with each other (0: from the best down, until as many stay as hits are wanted).
    """

    by: Literal["vector", "text"]
    threshold: Share = 0.92
    characters: Count = 150
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest
    among: int = 0

    @property
    def title(self) -> str:
        how = f"cosine ≥ {self.threshold:g}" if self.by == "vector" else f"first {self.characters} characters"
        return f"deduplicate by {how}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        order = best_first(sheet, ctx)[: self.among or None]
        losers = np.zeros(len(sheet), dtype=np.bool_)
        likeness = np.full(len(sheet), np.nan)
        starts: dict[int, str] = {}
        stay: list[int] = []
        for place in order:
            if not self.among and len(stay) == ctx.question.k:
                break
            alike = max((self._alike(sheet, ctx, starts, place, other) for other in stay), default=0.0)
            likeness[place] = alike
            if alike >= self._limit:
                losers[place] = True
            else:
                stay.append(place)
        sheet.columns[f"duplicate.{self.by}"] = likeness
        sheet.drop(losers, had=likeness, needed=np.full(len(sheet), self._limit))

    @property
    def _limit(self) -> float:
        return self.threshold if self.by == "vector" else 1.0

    def _alike(self, sheet: Sheet, ctx: RankContext, starts: dict[int, str], a: int, b: int) -> float:
        if self.by == "vector":
            return ctx.view.vectors.similarity(int(sheet.rows[a]), int(sheet.rows[b])) or 0.0
        for place in (a, b):
            if place not in starts:
                text = normal_form(ctx, int(sheet.rows[place]), self.analyzer)
                starts[place] = text[: self.characters]
        return float(starts[a] == starts[b] != "")
