"""fuse: several ranked channels become one score by reciprocal rank fusion."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray
from recollect.query.bounds import NonNegative, Positive
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Reads, Sheet
from recollect.query.stages.stage import ScoringStage


class Fuse(ScoringStage, frozen=True, kw_only=True, tag="fuse"):
    """score(d) = Σ weight_i / (k + rank_i(d)), over the channels that have a rank for d.

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
    """The largest number, or 1 if there is none above 0."""
    largest = float(np.nanmax(values, initial=0.0))
    return largest if largest > 0.0 else 1.0
