"""retrieve: the best memories of one channel become candidates.

Writes a column named after the channel and `<name>.rank` (1, 2, 3, …).
"""

from __future__ import annotations

import msgspec
import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.projections.rounding import round12
from recollect.query.bounds import Count, Finite, Share
from recollect.query.channels import CHANNELS
from recollect.query.rank_context import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.lexical_stage import LexicalStage


class Expanded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Also search with the first `first` rewritings of the question, their values times `discount`.

    The dial `dial` at 0 leaves them out.
    """

    first: Count
    discount: Share = 0.8
    dial: str = ""


class Retrieve(LexicalStage, frozen=True, kw_only=True, tag="retrieve"):
    """The best `top` by the channel's value (at least `per_hit` × k of them), from `min` upwards.

    With `expanded`, a memory that a recorded rewriting of the question finds counts with the larger of its
    values. Without recorded rewritings the sheet says that they are wanted.
    """

    channel: str
    name: str = ""
    top: Count = 100
    per_hit: Count | None = None
    min: Finite | None = None
    expanded: Expanded | None = None

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
        if self._expands(scene) and scene.question.effects.expansions is None:
            sheet.expansions_wanted = True
        places = sheet.admit(scene.view.documents.memory_of[rows], rows)
        sheet.write(self.column, places, values)
        sheet.write(f"{self.column}.rank", places, np.arange(1.0, len(rows) + 1.0))

    def search(self, scene: Scene) -> tuple[Int32Array, FloatArray]:
        """The rows that the channel finds, best first, and their values."""
        rows, values = self._found(scene)
        expansions = scene.question.effects.expansions
        if expansions and self.expanded and self._expands(scene):
            others = [self._found(scene.asking(e.text, e.vector)) for e in expansions[: self.expanded.first]]
            rows, values = self._merged(scene, (rows, values), others, self.expanded.discount)
        if self.min is None:
            return rows, values
        enough = values >= self.min
        return rows[enough], values[enough]

    def _found(self, scene: Scene) -> tuple[Int32Array, FloatArray]:
        if scene.ahead is not None and scene.ahead.stage is self:
            return scene.ahead.take()
        return CHANNELS[self.channel](scene, self.depth(scene), self.bm25, self.analyzer)

    def _expands(self, scene: Scene) -> bool:
        return self.expanded is not None and scene.dial(self.expanded.dial) > 0.0

    def _merged(
        self,
        scene: Scene,
        own: tuple[Int32Array, FloatArray],
        others: list[tuple[Int32Array, FloatArray]],
        discount: float,
    ) -> tuple[Int32Array, FloatArray]:
        """Each row once, with its largest value, best first, then by memory id."""
        best = dict(zip(own[0].tolist(), own[1].tolist(), strict=True))
        for rows, values in others:
            for row, value in zip(rows.tolist(), (values * discount).tolist(), strict=True):
                best[row] = max(value, best.get(row, value))
        ids, memory_of = scene.view.documents.ids.values, scene.view.documents.memory_of
        order = sorted((-round12(value), ids[memory_of[row]], row) for row, value in best.items())
        chosen = [row for _, _, row in order[: self.depth(scene)]]
        return np.array(chosen, dtype=np.int32), np.array([best[row] for row in chosen], dtype=np.float64)
