"""deduplicate: of candidates that say the same, the best stays."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.query.bounds import Count, Share
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import Stage


class Deduplicate(Stage, frozen=True, kw_only=True, tag="deduplicate"):
    """by = "vector": cosine ≥ threshold to a better candidate; by = "text": the same first characters.

    Text is compared in normalised form: the analyzer's tokens joined by spaces. Only the best `among` are
    compared with each other (0: as many as there are hits wanted).
    """

    by: Literal["vector", "text"]
    threshold: Share = 0.92
    characters: Count = 150
    analyzer: str = "unicode61-cjk/1"
    among: int = 0

    @property
    def title(self) -> str:
        how = f"cosine ≥ {self.threshold:g}" if self.by == "vector" else f"first {self.characters} characters"
        return f"deduplicate by {how}"

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        order = best_first(sheet, scene)[: self.among or scene.question.k]
        losers = np.zeros(len(sheet), dtype=np.bool_)
        likeness = np.full(len(sheet), np.nan)
        stay: list[int] = []
        for place in order:
            alike = max((self._alike(sheet, scene, place, other) for other in stay), default=0.0)
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

    def _alike(self, sheet: Sheet, scene: Scene, a: int, b: int) -> float:
        row_a, row_b = int(sheet.rows[a]), int(sheet.rows[b])
        if self.by == "vector":
            return scene.view.vectors.similarity(row_a, row_b) or 0.0
        return float(self._start(scene, row_a) == self._start(scene, row_b))

    def _start(self, scene: Scene, row: int) -> str:
        return " ".join(scene.view.lexical(self.analyzer).terms_of(row))[: self.characters]
