"""weigh: the score is a weighted sum of columns."""

from __future__ import annotations

import math

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Finite, NonNegative
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Weigh(ScoringStage, frozen=True, kw_only=True, tag="weigh"):
    """score(d) = Σ weight_i · column_i(d), in the order of the columns' names.

    A column is one that a stage wrote or a named input, with the name of its weight and `suffix`; where a
    candidate has none it counts as `missing`. With `to_one` the weights are divided by their sum. With
    `overridable` a question may bring weights of its own (`context.weights`); without it such a question is
    refused. `dials` name what multiplies a weight, `extras` what is added to it.
    """

    weights: dict[str, NonNegative]
    suffix: str = ""
    missing: Finite = 0.0
    to_one: bool = False
    overridable: bool = False
    dials: dict[str, str] = {}
    extras: dict[str, str] = {}

    @property
    def title(self) -> str:
        return "weigh " + " + ".join(f"{weight:g} {name}" for name, weight in sorted(self.weights.items()))

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        found: Reads = {}
        for name, weight in self._weights(ctx).items():
            values = read(name + self.suffix, sheet, ctx)
            found[name] = np.where(np.isnan(values), self.missing, values)
            found[f"{name}.weight"] = np.full(len(sheet), weight)
        return found

    def _weights(self, ctx: RankContext) -> dict[str, float]:
        given = ctx.question.context.weights if self.overridable else {}
        if given:
            weights = {name: given.get(name, 0.0) for name in sorted(self.weights)}
        else:
            weights = {
                name: weight * ctx.dial(self.dials.get(name, "")) + ctx.supplement(self.extras.get(name, ""))
                for name, weight in sorted(self.weights.items())
            }
        total = math.fsum(weights.values())
        return (
            {name: weight / total for name, weight in weights.items()}
            if self.to_one and total > 0
            else weights
        )

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        score = np.zeros(len(before))
        for name in sorted(self.weights):
            score = score + reads[f"{name}.weight"] * reads[name]
        return score
