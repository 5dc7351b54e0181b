"""Channels: where candidates come from. Each gives rows, best first, with the value they were found by.

Every channel gives only rows that are alive at the view's seq and pass the question's hard filters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import FloatArray, Int32Array, IntArray
from recollect.projections.lexical.bm25 import Bm25
from recollect.query.rank_context import RankContext
from recollect.query.text.dates import Span, span_of_question
from recollect.query.text.words import keywords_of

Channel = Callable[[RankContext, int, Bm25, str], tuple[Int32Array, FloatArray]]

_WIDENING = 4
_MICROS_PER_DAY = 86_400_000_000
NOTHING: tuple[Int32Array, FloatArray] = (np.empty(0, np.int32), np.empty(0))


def lexical(ctx: RankContext, top: int, bm25: Bm25, analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that hold a word of the question, by BM25."""
    admit = None if ctx.unrestricted else ctx.admit
    channel = ctx.view.lexical(analyzer)
    hits = channel.search(ctx.question.text, at=ctx.view.seq, bm25=bm25, top=top, admit=admit)
    return hits.rows, hits.scores


def vector(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows near the question's vector, by cosine; none if the question has no vector."""
    if ctx.question.vector is None:
        return NOTHING
    admit = None if ctx.unrestricted else ctx.admit
    query = from_bytes(ctx.question.vector)
    without = ctx.question.effects.scanned
    hits = ctx.view.vectors.search(query, at=ctx.view.seq, top=top, admit=admit, without=without)
    return hits.rows, hits.cosines


def keywords(ctx: RankContext, top: int, bm25: Bm25, analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that hold a keyword of the question, by BM25: stop words and one or two letters do not count."""
    words = " ".join(keywords_of(ctx.question.text, analyzer))
    return lexical(ctx.asking(words, ctx.question.vector), top, bm25, analyzer)


def recent(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows touched last, latest first (then by memory id), by the seqs of their last touches.

    A touch is the birth of a memory or an access to it; its time is its seq, so the order needs no clock. Only
    rows with a vector of the embedder in force count, as in a pool of vector candidates.
    """
    records = 2 * top
    while True:
        touches = ctx.view.lifecycle.recent_access(ctx.view.seq, records)
        able, rows = ctx.reachable(touches.memories)
        able[able] = ctx.view.vectors.comparable(rows[able], at=ctx.view.seq)
        if touches.complete or np.count_nonzero(able) >= top:
            return _first(ctx, touches.memories[able], rows[able], touches.seqs[able], top)
        records *= _WIDENING


def _first(
    ctx: RankContext, memories: IntArray, rows: Int32Array, seqs: IntArray, top: int
) -> tuple[Int32Array, FloatArray]:
    ids = ctx.view.documents.ids.values
    keys = zip((-seqs).tolist(), [ids[memory] for memory in memories.tolist()], range(len(rows)), strict=True)
    order = [place for _, _, place in sorted(keys)[:top]]
    return rows[order], seqs[order].astype(np.float64)


def hot(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows accessed most often, by their access counts; among equals the one that got there first.

    Memories that are hidden or out of scope are passed over, so the hard filters do not thin them out.
    """
    lifecycle, seq = ctx.view.lifecycle, ctx.view.seq
    wanted = top
    while True:
        memories = lifecycle.most_accessed(seq, wanted)
        able, rows = ctx.reachable(memories)
        if len(memories) < wanted or np.count_nonzero(able) >= top:
            counts = lifecycle.at(memories[able][:top], seq).access_count
            return rows[able][:top], counts.astype(np.float64)
        wanted *= _WIDENING


def temporal(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows whose dates are nearest to the question's time, at most one span away; none if it is about no time.

    A memory's date is the one it tells of (`valid_from`), else that of its creation. Among equally near ones the
    latest come first, then those born first.
    """
    span = span_of_question(ctx.question)
    if span is None:
        return NOTHING
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


def proximities(dates: IntArray, span: Span) -> FloatArray:
    """1 inside the span; outside 1 / (1 + days away / days of the span), which lasts at least a day."""
    away = np.maximum(np.maximum(span.start - dates, dates - (span.end - 1)), 0) / float(_MICROS_PER_DAY)
    return 1.0 / (1.0 + away / _days(span))


def _days(span: Span) -> float:
    return max((span.end - span.start) / _MICROS_PER_DAY, 1.0)


CHANNELS: dict[str, Channel] = {
    "lexical": lexical,
    "vector": vector,
    "recent": recent,
    "keywords": keywords,
    "hot": hot,
    "temporal": temporal,
}
