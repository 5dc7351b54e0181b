"""expand: memories linked to the best candidates become candidates too."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.scene import Scene
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import ScoringStage


class Expand(ScoringStage, frozen=True, kw_only=True, tag="expand"):
    """From the best `seeds`, along edges of at least `min_weight`, up to `hops` away; hard filters hold.

    With `decay`, a memory reached at hop h over an edge of weight w has the score
    max(score(d), score(seed) · decay^h · min(w, 1) · dial), and one that is new and below `min_score` is left
    out. Without it (`decay` 0) memories are only admitted, before scores exist, and seeds are the candidates.
    Writes `hop` (1, 2, …) and one column `edge.<kind>` = 1 for every kind of edge it was reached by.
    """

    hops: Count = 1
    seeds: Count = 5
    decay: Share = 0.0
    min_weight: NonNegative = 0.0
    min_score: NonNegative = 0.0
    dial: str = ""
    direction: Literal["both", "out", "in"] = "both"

    @property
    def title(self) -> str:
        return f"expand {self.hops} hops along edges"

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        if self.decay > 0.0:
            self._follow_the_best(sheet, scene)
        else:
            self._admit_linked(sheet, scene)

    def _admit_linked(self, sheet: Sheet, scene: Scene) -> None:
        """Breadth first from all candidates; a candidate that another one links to is reached as well."""
        frontier = sheet.memories[sheet.kept]
        for hop in range(1, self.hops + 1):
            found = scene.view.graph.neighbours(
                frontier, scene.view.seq, direction=self.direction, min_weight=self.min_weight
            )
            known = set(sheet.memories.tolist())
            able, rows = scene.reachable(found.memory)
            places = sheet.admit(found.memory[able].astype(np.int32), rows[able])
            self._mark(sheet, scene, places, found.kind[able].tolist(), hop)
            reached = dict.fromkeys(found.memory[able].tolist())
            frontier = np.array([memory for memory in reached if memory not in known], dtype=np.int32)

    def _mark(self, sheet: Sheet, scene: Scene, places: Int32Array, kinds: list[int], hop: int) -> None:
        for place, kind in zip(places.tolist(), kinds, strict=True):
            here = np.array([place], dtype=np.int32)
            sheet.write(f"edge.{scene.view.graph.kind_name(kind)}", here, np.ones(1))
            if np.isnan(sheet.column("hop")[place]):
                sheet.write("hop", here, np.array([float(hop)]))

    def _follow_the_best(self, sheet: Sheet, scene: Scene) -> None:
        """Each seed's neighbourhood at a share of the seed's score; the largest share counts."""
        shares: dict[int, float] = {}
        scale = scene.dial(self.dial)
        for seed in best_first(sheet, scene)[: self.seeds]:
            for step in scene.view.graph.expand(
                [int(sheet.memories[seed])], scene.view.seq, self.hops,
                direction=self.direction, min_weight=self.min_weight, admit=lambda found: scene.reachable(found)[0],
            ):  # fmt: skip
                share = float(sheet.score[seed])
                for _ in range(step.hop):
                    share *= self.decay
                share = share * min(step.weight, 1.0) * scale
                new = sheet.place(step.memory) < 0
                if share > shares.get(step.memory, 0.0) and not (new and share < self.min_score):
                    shares[step.memory] = share
        memories = np.array(list(shares), dtype=np.int32)
        places = sheet.admit(memories, scene.reachable(memories)[1])
        sheet.write("graph", places, np.array(list(shares.values()), dtype=np.float64))
        reads = {"graph": np.where(sheet.kept, sheet.column("graph"), np.nan)}
        sheet.step(reads, self.combine(sheet.score, reads))

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return np.fmax(before, reads["graph"])
