"""measure: a channel's value for every candidate, also those that it did not retrieve."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.events.grid import from_bytes
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.lexical_stage import LexicalStage


class Measure(LexicalStage, frozen=True, kw_only=True, tag="measure"):
    """Cosine with the question (NaN without vectors), or BM25 score (NaN where no word matches)."""

    channel: Literal["lexical", "vector"]
    name: str = ""

    @property
    def title(self) -> str:
        return f"measure {self.name or self.channel}"

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        question, seq = scene.question, scene.view.seq
        values = np.full(len(sheet), np.nan)
        if self.channel == "lexical":
            scores = scene.view.lexical(self.analyzer).score_rows(
                question.text, sheet.rows, at=seq, bm25=self.bm25
            )
            values = np.where(scores > 0.0, scores, np.nan)
        elif question.vector is not None:
            vectors = scene.view.vectors
            able = vectors.comparable(sheet.rows, at=seq)
            values = np.where(able, vectors.cosines(from_bytes(question.vector), sheet.rows, at=seq), np.nan)
        sheet.columns[self.name or self.channel] = values
