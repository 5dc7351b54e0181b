"""The memories touched last: what an agent has lately made or read, in the order of the log.

A touch is the birth of a memory or an access to it; its time is its seq, so the order needs no clock. Only
rows with a vector of the embedder in force count, as in a pool of vector candidates.
"""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array, IntArray
from recollect.query.rank_context import RankContext

_WIDENING = 4


def recent_rows(ctx: RankContext, top: int) -> tuple[Int32Array, FloatArray]:
    """The `top` rows touched last, latest first (then by memory id), and the seqs of their last touches."""
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
