"""silence: if nothing is near enough to the question, the answer is empty."""

from __future__ import annotations

import numpy as np

from recollect.query.bounds import NonNegative
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Silence(Stage, frozen=True, kw_only=True, tag="silence"):
    """Drops every candidate unless, for one of the columns in `below`, the best value reaches its minimum.

    It judges the answer as a whole: where one memory is near, its neighbours may be further. A question for
    which a column has no value at all (no vectors, say) is not judged. The sheet's fact `silence` says
    whether it fired.
    """

    below: dict[str, NonNegative]

    @property
    def title(self) -> str:
        return "silence below " + " and ".join(
            f"{name} {least:g}" for name, least in sorted(self.below.items())
        )

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        best = {name: self._best(name, sheet, ctx) for name in sorted(self.below)}
        judged = not any(np.isnan(value) for value in best.values())
        silent = judged and all(value < self.below[name] for name, value in best.items())
        sheet.facts["silence"] = "true" if silent else "false"
        if silent:
            name = max(best, key=lambda column: (best[column] - self.below[column], column))
            needed = np.full(len(sheet), self.below[name])
            sheet.drop(np.ones(len(sheet), dtype=np.bool_), had=read(name, sheet, ctx), needed=needed)

    def _best(self, name: str, sheet: Sheet, ctx: RankContext) -> float:
        values = read(name, sheet, ctx)[sheet.kept]
        values = values[~np.isnan(values)]
        return float(values.max()) if len(values) else float("nan")
