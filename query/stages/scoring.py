"""Stages that make the score of columns and factors."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import Finite, NonNegative, Positive
from recollect.query.inputs import read
from recollect.query.sheet import RankContext, Reads, Sheet
from recollect.query.stages.stage import FactorStage, ScoringStage


class Fuse(ScoringStage, frozen=True, kw_only=True, tag="fuse"):
    """Several ranked channels become one score by reciprocal rank fusion.

    score(d) = Σ weight_i / (k + rank_i(d)), over the channels that have a rank for d.

    With `per_channel`, each channel's shares are first divided by their largest, so that its best candidate
    counts 1; with `overall`, the sums are divided by the largest sum. A weight is multiplied by the dial that
    `dials` names for its channel. Channels are added in the order they are named.

    Cormack, Clarke & Büttcher 2009.
    """

    channels: tuple[str, ...]
    k: Positive = 60.0
    weights: dict[str, NonNegative] = {}
    dials: dict[str, str] = {}
    per_channel: bool = False
    overall: bool = False

    @property
    def title(self) -> str:
        return f"fuse {' + '.join(self.channels)} (rrf, k={self.k:g})"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        sheet.fuse_k = self.k
        found: Reads = {}
        total = np.zeros(len(sheet))
        for channel in self.channels:
            ranks = np.where(sheet.kept, sheet.column(f"{channel}.rank"), np.nan)
            weight = self.weights.get(channel, 1.0) * ctx.dial(self.dials.get(channel, ""))
            found[f"{channel}.rank"] = ranks
            found[f"{channel}.weight"] = np.full(len(sheet), weight)
            if self.per_channel:
                found[f"{channel}.max"] = np.full(len(sheet), _largest(1.0 / (self.k + ranks)))
            total = total + self._share(channel, found)
        if self.overall:
            found["max"] = np.full(len(sheet), _largest(total))
        return found

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        score = np.zeros(len(before))
        for channel in self.channels:
            score = score + self._share(channel, reads)
        return score / reads["max"] if self.overall else score

    def _share(self, channel: str, reads: Reads) -> FloatArray:
        """What one channel gives: 0 to a candidate that it did not find."""
        weight, rank = reads[f"{channel}.weight"], reads[f"{channel}.rank"]
        if self.per_channel:
            share = weight * ((1.0 / (self.k + rank)) / reads[f"{channel}.max"])
        else:
            share = weight / (self.k + rank)
        return np.where(np.isnan(share), 0.0, share)


def _largest(values: FloatArray) -> float:
    """The largest number, or 1 if no number is above 0."""
    largest = float(np.nanmax(values, initial=0.0))
    return largest if largest > 0.0 else 1.0


class Weigh(ScoringStage, frozen=True, kw_only=True, tag="weigh"):
    """The score is a weighted sum of columns.

    score(d) = Σ weight_i · column_i(d), in the order of the columns' names.

    A column is one that a stage wrote or a named input, with the name of its weight and `suffix`; where a
    candidate has no value it counts as `missing`. With `to_one` the weights are divided by their sum. With
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


class Normalise(ScoringStage, frozen=True, kw_only=True, tag="normalise"):
    """A column, or the score itself, on the scale of the batch.

    minmax: low + (1 − low) · (x − min) / (max − min); max: x / max.

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


class Multiply(FactorStage, frozen=True, kw_only=True, tag="multiply"):
    """The score times one factor.

    score(d) ← score(d) · factor(d)
    """

    @property
    def title(self) -> str:
        return f"multiply by {self.factor}"

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before * reads[self.column]


class Add(FactorStage, frozen=True, kw_only=True, tag="add"):
    """The score plus a weighted factor.

    score(d) ← score(d) + scale · factor(d)
    """

    scale: Finite = 1.0

    @property
    def title(self) -> str:
        return f"add {self.factor}" if self.scale == 1.0 else f"add {self.scale:g} × {self.factor}"

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return before + self.scale * reads[self.column]


class Boost(ScoringStage, frozen=True, kw_only=True, tag="boost"):
    """Small fixed amounts on top of the score, one for each column that fires.

    score(d) ← score(d) + min(Σ amount_i · column_i(d), cap), in the order of the columns' names.

    A column is one that a stage wrote or a named input; a candidate without a value counts 0. Without `cap` the sum
    counts in full.
    """

    amounts: dict[str, Finite]
    cap: NonNegative | None = None

    @property
    def title(self) -> str:
        return "boost by " + ", ".join(f"{amount:+g} {name}" for name, amount in sorted(self.amounts.items()))

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        reads: Reads = {}
        for name in sorted(self.amounts):
            values = read(name, sheet, ctx)
            reads[name] = np.where(np.isnan(values), 0.0, values)
        return reads

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        total = np.zeros(len(before))
        for name, amount in sorted(self.amounts.items()):
            total = total + amount * reads[name]
        return before + (total if self.cap is None else np.minimum(total, self.cap))


class Raise(ScoringStage, frozen=True, kw_only=True, tag="raise"):
    """The score is at least a share of a column.

    score(d) ← max(score(d), scale · column(d)); a candidate without a score starts from the column.
    """

    column: str
    scale: NonNegative = 1.0

    @property
    def title(self) -> str:
        return f"raise to {self.scale:g} × {self.column}"

    def reads(self, sheet: Sheet, ctx: RankContext) -> Reads:
        return {self.column: np.where(sheet.kept, read(self.column, sheet, ctx), np.nan)}

    def combine(self, before: FloatArray, reads: Reads) -> FloatArray:
        return np.fmax(before, self.scale * reads[self.column])
