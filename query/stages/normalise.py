"""normalise: a column, or the score itself, on the scale of the batch."""

from __future__ import annotations

from typing import Literal

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Finite
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Normalise(ScoringStage, frozen=True, kw_only=True, tag="normalise"):
    """minmax: low + (1 − low) · (x − min) / (max − min); max: x / max.

    Minimum and maximum are those of the kept candidates that have the column. Where they are equal (or the
    maximum is not above 0) the value is `flat`. The result goes to `name` (default: the column itself).
    """

    column: str
    method: Literal["minmax", "max"] = "minmax"
    name: str = ""
    low: Finite = 0.0
    flat: Finite = 1.0

    @property
    def title(self) -> str:
        return f"normalise {self.column} ({self.method})"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = np.where(sheet.kept, read(self.column, sheet, ctx), np.nan)
        reads: Reads = {
            "value": values,
            "min": np.full(len(sheet), float(np.nanmin(values, initial=np.inf))),
            "max": np.full(len(sheet), float(np.nanmax(values, initial=-np.inf))),
        }
        scaled = self._scaled(reads)
        if self.column == "score" and not self.name:
            sheet.step(reads, scaled)
        else:
            sheet.columns[self.name or self.column] = scaled

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        del before  # it is among the reads
        return self._scaled(reads)

    def _scaled(self, reads: Reads) -> FloatArray:
        value, low, high = reads["value"], reads["min"], reads["max"]
        spread = high - low if self.method == "minmax" else high
        even = ~(spread > 0.0)
        divisor = np.where(even, 1.0, spread)
        if self.method == "minmax":
            scaled = self.low + (1.0 - self.low) * ((value - low) / divisor)
        else:
            scaled = value / divisor
        return np.where(np.isnan(value), np.nan, np.where(even, self.flat, scaled))
