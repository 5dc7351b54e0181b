"""The time that a question is about, and how near each memory's date is to it.

The caller may give that time (`context.since`, `context.until`: they move a ranking, they do not restrict it as
the filters of the same names do); otherwise it is read from the question's words, relative to its clock. A
memory's date is the one it tells of (`valid_from`), else that of its creation.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from recollect.events.facts import Context, Micros, Question
from recollect.projections.columns import FloatArray, Int32Array, IntArray
from recollect.query.rank_context import RankContext
from recollect.query.sheet import Sheet
from recollect.query.text.dates import Span, span_of

_MICROS_PER_DAY = 86_400_000_000
_NO_ROWS: tuple[Int32Array, FloatArray] = (np.empty(0, np.int32), np.empty(0))


def span_of_question(question: Question) -> Span | None:
    """The time that the question is about: the caller's, else that of its words; None if there is none."""
    return _given(question.context, question.now) or _in_words(question.text, question.now)


def _given(context: Context, now: Micros) -> Span | None:
    """Open at the front it begins in 1970, open at the end it lasts until now."""
    if context.since is None and context.until is None:
        return None
    start = 0 if context.since is None else context.since
    return Span(start, now + 1 if context.until is None else context.until)


_in_words = lru_cache(maxsize=64)(span_of)


def in_span(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 where the memory's date lies in the question's time, 0 where not; NaN if the question has none."""
    span = span_of_question(ctx.question)
    if span is None:
        return np.full(len(sheet), np.nan)
    dates = ctx.lifecycle(sheet).event_at
    return ((dates >= span.start) & (dates < span.end)).astype(np.float64)


def span_given(sheet: Sheet, ctx: RankContext) -> FloatArray:
    """1 if the caller gave the time that the question is about, else 0."""
    return np.full(len(sheet), float(_given(ctx.question.context, ctx.question.now) is not None))


def proximities(dates: IntArray, span: Span) -> FloatArray:
    """1 inside the span; outside 1 / (1 + days away / days of the span), which lasts at least a day."""
    away = np.maximum(np.maximum(span.start - dates, dates - (span.end - 1)), 0) / float(_MICROS_PER_DAY)
    return 1.0 / (1.0 + away / _days(span))


def _days(span: Span) -> float:
    return max((span.end - span.start) / _MICROS_PER_DAY, 1.0)


def temporal_rows(ctx: RankContext, top: int) -> tuple[Int32Array, FloatArray]:
    """The `top` rows whose dates are nearest to the question's time, at most one span away from it.

    Among equally near ones the latest come first, then those born first.
    """
    span = span_of_question(ctx.question)
    if span is None:
        return _NO_ROWS
    documents, seq = ctx.view.documents, ctx.view.seq
    born = documents.rows_born(seq)
    rows = np.flatnonzero(documents.died[:born] > seq).astype(np.int32)
    dates = ctx.view.lifecycle.at(documents.memory_of[rows], seq).event_at
    margin = int(_days(span) * _MICROS_PER_DAY)
    near = np.flatnonzero((dates >= span.start - margin) & (dates < span.end + margin))
    near = near[ctx.admit(rows[near])] if len(near) and not ctx.unrestricted else near
    values = proximities(dates[near], span)
    order = np.lexsort((rows[near], -dates[near], -values))[:top]
    return rows[near[order]], values[order]
