"""Channels: where candidates come from. Each gives rows, best first, with the value they were found by.

Every channel gives only rows that are alive at the view's seq and pass the question's hard filters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recollect.events.grid import from_bytes
from recollect.projections.columns import FloatArray, Int32Array
from recollect.projections.lexical.bm25 import Bm25
from recollect.query.hot import hot_rows
from recollect.query.rank_context import RankContext
from recollect.query.recent import recent_rows
from recollect.query.timing import temporal_rows
from recollect.query.words import keywords_of

Channel = Callable[[RankContext, int, Bm25, str], tuple[Int32Array, FloatArray]]

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


def recent(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that have a vector, by the seq of their last touch (birth or access)."""
    return recent_rows(ctx, top)


def keywords(ctx: RankContext, top: int, bm25: Bm25, analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that hold a keyword of the question, by BM25: stop words and one or two letters do not count."""
    words = " ".join(keywords_of(ctx.question.text, analyzer))
    return lexical(ctx.asking(words, ctx.question.vector), top, bm25, analyzer)


def hot(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows that were accessed, by the number of accesses."""
    return hot_rows(ctx, top)


def temporal(ctx: RankContext, top: int, _bm25: Bm25, _analyzer: str) -> tuple[Int32Array, FloatArray]:
    """Rows whose date is near the time that the question is about, by nearness; none if it is about none."""
    return temporal_rows(ctx, top)


CHANNELS: dict[str, Channel] = {
    "lexical": lexical,
    "vector": vector,
    "recent": recent,
    "keywords": keywords,
    "hot": hot,
    "temporal": temporal,
}
