"""abstain: what is not near enough to the question is left out, so that nonsense gets an empty answer."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np

from recollect.projections.columns import BoolArray, FloatArray
from recollect.query.bounds import Count, NonNegative, Share
from recollect.query.inputs import read
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.stages.stage import Stage


class Retry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A second try with lower minimums, if something is left but with little confidence.

    Confidence is the mean score of the best `over`, each counted as at most 1. Below `below`, the minimums of
    the columns are multiplied by `relax` and that of the score by `relax_score`; the second try counts if its
    confidence is higher and at least `accept`. The sheet's fact `retry` says how it ended.
    """

    below: Share = 0.3
    over: Count = 3
    relax: Share = 0.6
    relax_score: Share = 0.5
    accept: Share = 0.15


class _Verdict(NamedTuple):
    """Which candidates score too low and which lie too far off, with the numbers that decided it."""

    low: BoolArray
    floor: FloatArray
    far: BoolArray
    had: FloatArray
    needed: FloatArray


class Abstain(Stage, frozen=True, kw_only=True, tag="abstain"):
    """Keeps a candidate if its score is ≥ `min_score` and any of the columns named in `any_of` reaches its
    minimum. A minimum is multiplied by the dial of the same key that `dials` names for its column.
    """

    min_score: NonNegative = 0.0
    any_of: dict[str, NonNegative] = {}
    dials: dict[str, str] = {}
    retry: Retry | None = None

    @property
    def title(self) -> str:
        return "abstain unless " + (" or ".join(map(self._minimum, sorted(self.any_of))) or "scored")

    def _minimum(self, name: str) -> str:
        dial, minimum = self.dials.get(name, ""), self.any_of[name]
        return f"{name} ≥ " + (
            f"{minimum:g}" if not dial else dial if minimum == 1.0 else f"{minimum:g} × {dial}"
        )

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        verdict = self._judge(sheet, ctx, 1.0, 1.0)
        if self.retry is not None:
            verdict = self._reconsider(sheet, ctx, verdict, self.retry)
        sheet.drop(verdict.low, had=sheet.score, needed=verdict.floor)
        sheet.drop(verdict.far, had=verdict.had, needed=verdict.needed)

    def _judge(self, sheet: Sheet, ctx: RankContext, relax: float, relax_score: float) -> _Verdict:
        floor = np.full(len(sheet), self.min_score * ctx.dial(self.dials.get("score", "")) * relax_score)
        enough: BoolArray = np.full(len(sheet), not self.any_of, dtype=np.bool_)
        had, needed = np.full(len(sheet), np.nan), np.full(len(sheet), np.nan)
        for name, minimum in sorted(self.any_of.items()):
            limit = minimum * ctx.dial(self.dials.get(name, "")) * relax
            values = read(name, sheet, ctx)
            enough |= values >= limit
            closer = np.isnan(had) | (values - limit > had - needed)
            had, needed = np.where(closer, values, had), np.where(closer, limit, needed)
        return _Verdict(sheet.score < floor, floor, ~enough, had, needed)

    def _reconsider(self, sheet: Sheet, ctx: RankContext, first: _Verdict, retry: Retry) -> _Verdict:
        before = _confidence(sheet, first, retry.over)
        if before is None or before >= retry.below:
            return first
        second = self._judge(sheet, ctx, retry.relax, retry.relax_score)
        after = _confidence(sheet, second, retry.over) or 0.0
        better = after > before and after >= retry.accept
        sheet.facts["retry"] = "relaxed" if better else "no better"
        return second if better else first


def _confidence(sheet: Sheet, verdict: _Verdict, over: int) -> float | None:
    """The mean of the best scores that the verdict leaves; None if it leaves none."""
    left = sheet.scored & ~verdict.low & ~verdict.far
    best = sorted((min(score, 1.0) for score in sheet.score[left].tolist()), reverse=True)[:over]
    return math.fsum(best) / len(best) if best else None
