"""tie-break: when all scores are nearly the same, another order decides."""

from __future__ import annotations

import math

import numpy as np

from recollect.query.bounds import NonNegative
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Order, Sheet
from recollect.query.stages.stage import Stage


class TieBreak(Stage, frozen=True, kw_only=True, tag="tie-break"):
    """If the standard deviation of the scores is below `sigma`, order by these columns, largest first.

    The deviation is the population's, over the kept candidates (fsum, so its bits do not depend on an order).
    The sheet's fact `tiebreak_applied` says whether it fired.
    """

    sigma: NonNegative
    by: tuple[str, ...]
    id_descending: bool = False

    @property
    def title(self) -> str:
        return f"tie-break below σ {self.sigma:g} by {', '.join(self.by)}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        scores = sheet.score[sheet.scored].tolist()
        fires = len(scores) > 1 and _deviation(scores) < self.sigma
        sheet.facts["tiebreak_applied"] = "true" if fires else "false"
        if fires:
            sheet.order = tuple(Order(name, np.array(read(name, sheet, ctx))) for name in self.by)
            sheet.id_descending = self.id_descending


def _deviation(scores: list[float]) -> float:
    mean = math.fsum(scores) / len(scores)
    return math.sqrt(math.fsum((score - mean) * (score - mean) for score in scores) / len(scores))
