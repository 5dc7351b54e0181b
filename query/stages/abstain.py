"""abstain: what is not near enough to the question is left out, so that nonsense gets an empty answer."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import BoolArray
from recollect.query.bounds import NonNegative
from recollect.query.inputs import read
from recollect.query.scene import Scene
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Abstain(Stage, frozen=True, kw_only=True, tag="abstain"):
    """Keeps a candidate if its score is ≥ `min_score` and any of the columns named in `any_of` reaches its
    minimum. A minimum is multiplied by the dial of the same key that `dials` names for its column.
    """

    min_score: NonNegative = 0.0
    any_of: dict[str, NonNegative] = {}
    dials: dict[str, str] = {}

    @property
    def title(self) -> str:
        return "abstain unless " + (
            " or ".join(f"{n} ≥ {m:g}" for n, m in sorted(self.any_of.items())) or "scored"
        )

    def apply(self, sheet: Sheet, scene: Scene) -> None:
        floor = np.full(len(sheet), self.min_score * scene.dial(self.dials.get("score", "")))
        sheet.drop(sheet.score < floor, had=sheet.score, needed=floor)
        if not self.any_of:
            return
        enough: BoolArray = np.zeros(len(sheet), dtype=np.bool_)
        had, needed = np.full(len(sheet), np.nan), np.full(len(sheet), np.nan)
        for name, minimum in sorted(self.any_of.items()):
            limit = minimum * scene.dial(self.dials.get(name, ""))
            values = read(name, sheet, scene)
            enough |= values >= limit
            closer = np.isnan(had) | (values - limit > had - needed)
            had, needed = np.where(closer, values, had), np.where(closer, limit, needed)
        sheet.drop(~enough, had=had, needed=needed)
