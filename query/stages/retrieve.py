"""retrieve: the best `top` memories of one channel become candidates.

Writes a column named after the channel (BM25 score or cosine) and `<name>.rank` (1, 2, 3, …).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.bm25 import Bm25
from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Retrieve(Stage, frozen=True, kw_only=True, tag="retrieve"):
    channel: Literal["lexical", "vector"]
    top: Count = 100
    name: str = ""
    variant: Literal["fts5", "okapi", "plus", "l", "lucene"] = "fts5"
    analyzer: str = "unicode61-cjk/1"
    k1: NonNegative | None = None
    b: Share | None = None

    @property
    def column(self) -> str:
        return self.name or self.channel

    @property
    def bm25(self) -> Bm25:
        given = {key: value for key, value in (("k1", self.k1), ("b", self.b)) if value is not None}
        return Bm25(variant=self.variant, **given)

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        rows, values = self.search(scene)
        places = sheet.admit(scene.view.documents.memory_of[rows], rows)
        sheet.write(self.column, places, values)
        sheet.write(f"{self.column}.rank", places, np.arange(1.0, len(rows) + 1.0))
        sheet.step(f"retrieve {self.column}", (self.column, f"{self.column}.rank"))

    def search(self, scene: Scene) -> tuple[Int32Array, FloatArray]:
        """The rows that the channel finds, best first, and their values."""
        return self._lexical(scene) if self.channel == "lexical" else self._vector(scene)

    def _lexical(self, scene: Scene) -> tuple[Int32Array, FloatArray]:
        lexical = scene.view.lexical(self.analyzer)
        admit = None if scene.unrestricted else scene.admit
        hits = lexical.search(
            scene.question.text, at=scene.view.seq, bm25=self.bm25, top=self.top, admit=admit
        )
        return hits.rows, hits.scores

    def _vector(self, scene: Scene) -> tuple[Int32Array, FloatArray]:
        if scene.question.vector is None:
            return np.empty(0, np.int32), np.empty(0)
        admit = None if scene.unrestricted else scene.admit
        query = from_bytes(scene.question.vector)
        hits = scene.view.vectors.search(query, at=scene.view.seq, top=self.top, admit=admit)
        return hits.rows, hits.cosines
