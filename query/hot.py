"""The memories accessed most often: what an agent keeps coming back to."""

from __future__ import annotations

import numpy as np

from recollect.projections.columns import FloatArray, Int32Array
from recollect.query.rank_context import Scene

_WIDENING = 4


def hot_rows(scene: Scene, top: int) -> tuple[Int32Array, FloatArray]:
    """The `top` rows by accesses, most first (then who got there first), and their access counts.

    Memories that are hidden or out of scope are passed over, so the hard filters do not thin them out.
    """
    lifecycle, seq = scene.view.lifecycle, scene.view.seq
    wanted = top
    while True:
        memories = lifecycle.most_accessed(seq, wanted)
        able, rows = scene.reachable(memories)
        if len(memories) < wanted or np.count_nonzero(able) >= top:
            counts = lifecycle.at(memories[able][:top], seq).access_count
            return rows[able][:top], counts.astype(np.float64)
        wanted *= _WIDENING
