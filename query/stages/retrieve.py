"""retrieve: the best memories of one channel become candidates.

Writes a column named after the channel and `<name>.rank` (1, 2, 3, …).
"""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.bounds import Count, Finite
from recollect.query.channels import CHANNELS
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.lexical_stage import LexicalStage


class Retrieve(LexicalStage, frozen=True, kw_only=True, tag="retrieve"):
    """The best `top` by the channel's value (at least `per_hit` × k of them), from `min` upwards."""

    channel: str
    name: str = ""
    top: Count = 100
    per_hit: Count | None = None
    min: Finite | None = None

    @property
    def column(self) -> str:
        return self.name or self.channel

    @property
    def title(self) -> str:
        return f"retrieve {self.column} (top {self.top})"

    def depth(self, scene: Scene) -> int:
        """How many candidates the channel may give for this question."""
        return self.top if self.per_hit is None else max(self.top, self.per_hit * scene.question.k)

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        rows, values = self.search(scene)
        places = sheet.admit(scene.view.documents.memory_of[rows], rows)
        sheet.write(self.column, places, values)
        sheet.write(f"{self.column}.rank", places, np.arange(1.0, len(rows) + 1.0))

    def search(self, scene: Scene) -> tuple[Int32Array, FloatArray]:
        """The rows that the channel finds, best first, and their values."""
        rows, values = CHANNELS[self.channel](scene, self.depth(scene), self.bm25, self.analyzer)
        if self.min is None:
            return rows, values
        enough = values >= self.min
        return rows[enough], values[enough]
