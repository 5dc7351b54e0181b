"""The memories accessed most often: what an agent keeps coming back to."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.rank_context import RankContext

_WIDENING = 4


def hot_rows(ctx: RankContext, top: int) -> tuple[Int32Array, FloatArray]:
    """The `top` rows by accesses, most first (then who got there first), and their access counts.

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
