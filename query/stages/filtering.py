"""Stages that drop candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from recollect.projections.columns import BoolArray, FloatArray, Int32Array, distinct_places
from recollect.projections.lexical.frozen_unicode import lower_14
from recollect.projections.portable_math import round12
from recollect.query.bounds import Count, Finite, NonNegative, Share
from recollect.query.inputs import read
from recollect.query.sheet import RankContext, Sheet
from recollect.query.stages.ordering import best_first
from recollect.query.stages.stage import Stage


class Filter(Stage, frozen=True, kw_only=True, tag="filter"):
    """Candidates whose value is out of bounds are dropped.

    Keeps min ≤ value ≤ max; a candidate without the value stays unless it is `required`.

    The hard filters (alive, not expired, in scope) are no stage: they hold for every candidate from the start.
    """

    by: str
    min: Finite | None = None
    max: Finite | None = None
    required: bool = False

    @property
    def title(self) -> str:
        low = "" if self.min is None else f"{self.min:g} ≤ "
        high = "" if self.max is None else f" ≤ {self.max:g}"
        return f"filter {low}{self.by}{high}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        values = read(self.by, sheet, ctx)
        if self.min is not None:
            sheet.drop(values < self.min, had=values, needed=np.full(len(sheet), self.min))
        if self.max is not None:
            sheet.drop(values > self.max, had=values, needed=np.full(len(sheet), self.max))
        if self.required:
            sheet.drop(np.isnan(values), had=values, needed=values)


class Exclude(Stage, frozen=True, kw_only=True, tag="exclude"):
    """Candidates of some kinds are dropped, unless the question asks for them by name.

    Drops candidates whose kind is one of `kinds`; a kind that the filters name stays.
    """

    kinds: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"exclude {', '.join(self.kinds)}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        unwanted = set(map(lower_14, self.kinds)) - set(map(lower_14, ctx.question.filters.kinds))
        columns = ctx.lifecycle(sheet)
        kinds, places = distinct_places(columns.kind)
        refused = [lower_14(kind or "") in unwanted for kind in columns.texts(kinds)]
        losers = np.array(refused, dtype=np.bool_)[places]
        sheet.drop(losers, had=losers.astype(np.float64), needed=np.zeros(len(sheet)))


_ROWS_AT_ONCE = 64


class Deduplicate(Stage, frozen=True, kw_only=True, tag="deduplicate"):
    """Of candidates that say the same, the best stays.

    by = "vector": cosine ≥ threshold to a better candidate; by = "text": the same first characters.

    Text is compared in normal form: the analyzer's terms joined by spaces; one without terms is like no other. Only the best `among` are
    compared with each other (0: from the best down, until as many stay as hits are wanted).
    """

    by: Literal["vector", "text"]
    threshold: Share = 0.92
    characters: Count = 150
    analyzer: str = "unicode61-cjk/1"  # in a text of the log; a file gets the newest
    among: int = 0

    @property
    def title(self) -> str:
        how = f"cosine ≥ {self.threshold:g}" if self.by == "vector" else f"first {self.characters} characters"
        return f"deduplicate by {how}"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        order = best_first(sheet, ctx)[: self.among or None]
        rows = sheet.rows[np.array(order, dtype=np.int64)]
        likeness_to = (self._cosines if self.by == "vector" else self._same_starts)(rows, ctx)
        losers = np.zeros(len(sheet), dtype=np.bool_)
        likeness = np.full(len(sheet), np.nan)
        stay: list[int] = []
        for position, place in enumerate(order):
            if not self.among and len(stay) == ctx.question.k:
                break
            likeness[place] = likeness_to(position, stay)
            if likeness[place] >= self._limit:
                losers[place] = True
            else:
                stay.append(position)
        sheet.columns[f"duplicate.{self.by}"] = likeness
        sheet.drop(losers, had=likeness, needed=np.full(len(sheet), self._limit))

    @property
    def _limit(self) -> float:
        return self.threshold if self.by == "vector" else 1.0

    def _cosines(self, rows: Int32Array, ctx: RankContext) -> Callable[[int, list[int]], float]:
        """The largest cosine of a row with those at other positions before it."""
        lines: list[FloatArray] = []

        def largest(position: int, others: list[int]) -> float:
            if position == len(lines):
                end = position + _ROWS_AT_ONCE
                lines.extend(ctx.view.vectors.cosines_between(rows[position:end], rows[:end]))
            return round12(float(lines[position][others].max())) if others else 0.0

        return largest

    def _same_starts(self, rows: Int32Array, ctx: RankContext) -> Callable[[int, list[int]], float]:
        """1 if a row before this one begins with the same characters, else 0."""
        starts: set[str] = set()

        def same(position: int, _others: list[int]) -> float:
            start = ctx.normal_form(int(rows[position]), self.analyzer)[: self.characters]
            known = start in starts and start != ""
            starts.add(start)
            return float(known)

        return same


_BYTES_PER_TOKEN = 4


class Cut(Stage, frozen=True, kw_only=True, tag="cut"):
    """At most so many hits, or so many tokens, leave the ranking.

    The best `top` stay; with `tokens`, those that fit the budget, best first.

    A memory costs ceil(bytes / 4) tokens and is never split: one that does not fit is passed over and smaller
    ones after it may still fit (greedy fill).
    """

    top: Count | None = None
    tokens: Count | None = None

    @property
    def title(self) -> str:
        return f"cut to {self.top} hits" if self.tokens is None else f"cut to {self.tokens} tokens"

    def apply(self, sheet: Sheet, ctx: RankContext) -> None:
        order = best_first(sheet, ctx)
        if self.top is not None and len(order) > self.top:
            losers = np.zeros(len(sheet), dtype=np.bool_)
            losers[order[self.top :]] = True
            last = np.full(len(sheet), sheet.score[order[self.top - 1]])
            sheet.drop(losers, had=sheet.score, needed=last)
        if self.tokens is not None:
            self._fill(sheet, ctx, order, self.tokens)

    def _fill(self, sheet: Sheet, ctx: RankContext, order: list[int], budget: int) -> None:
        cost = -(-ctx.view.documents.bytes_of(sheet.rows) // _BYTES_PER_TOKEN)
        losers, left = np.zeros(len(sheet), dtype=np.bool_), budget
        needed = np.full(len(sheet), np.nan)
        for place in order:
            if cost[place] <= left:
                left -= int(cost[place])
            else:
                losers[place], needed[place] = True, left
        sheet.columns["tokens"] = cost.astype(np.float64)
        sheet.drop(losers, had=sheet.columns["tokens"], needed=needed)


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
    """What is not near enough to the question is left out, so that nonsense gets an empty answer.

    Keeps a candidate if its score is ≥ `min_score` and any of the columns named in `any_of` reaches its
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
    """The mean of the best scores that the verdict keeps; None if it keeps no candidate."""
    left = sheet.scored & ~verdict.low & ~verdict.far
    best = sorted((min(score, 1.0) for score in sheet.score[left].tolist()), reverse=True)[:over]
    return math.fsum(best) / len(best) if best else None


class Silence(Stage, frozen=True, kw_only=True, tag="silence"):
    """If nothing is near enough to the question, the answer is empty.

    Drops every candidate unless, for one of the columns in `below`, the best value reaches its minimum.

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
