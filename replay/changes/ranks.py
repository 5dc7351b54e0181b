"""A memory's rank over time for one question: at its own events and at positions spread in between."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from recollect.events.log import Log
from recollect.replay.changes.inquiry import Inquiry, Moment
from recollect.replay.redaction import redacted_within


class RankPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One position: `own` if an event of the memory itself stands there."""

    seq: int
    at: int
    rank: int | None
    score: float | None
    own: bool


class RankHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Each point is asked with the clock of its position, unless a clock was given for all.

    `redacted` is a line about what was erased since and could have ranked, or empty; `degraded` says why points were
    ranked by words only.
    """

    id: str
    query: str
    points: tuple[RankPoint, ...]
    redacted: str = ""
    degraded: tuple[str, ...] = ()


def rank_history(
    log: Log, inquiry: Inquiry, memory_id: str, *, since: int, until: int, points: int, clock: Callable[[int], int],
) -> RankHistory:  # fmt: skip
    """About `points` positions in [since, until]: the memory's latest events, and an even spread.

    A dream counts as one: what lies in the middle of one is asked before it. `clock` says which time to ask with
    at a position.
    """
    memory = inquiry.projections.documents.ids.find(memory_id)
    touched = [seq for seq in inquiry.projections.lifecycle.history(memory) if since <= seq <= until]
    own = set(touched[-(points // 2) :])
    spread = np.linspace(since, until, max(points - len(own), 2)).round().astype(int).tolist()
    seqs = {inquiry.projections.adoptions.whole(seq) for seq in (*own, *spread)}
    asked = tuple(
        _point(inquiry, memory_id, Moment(seq, clock(seq)), at=log.time_of(seq), own=seq in own)
        for seq in sorted(seqs)
    )
    return RankHistory(
        id=memory_id,
        query=inquiry.question.text,
        points=asked,
        redacted=redacted_within(inquiry.projections, (since, until)),
        degraded=inquiry.degraded,
    )


def _point(inquiry: Inquiry, memory_id: str, moment: Moment, *, at: int, own: bool) -> RankPoint:
    standing = inquiry.standing(memory_id, moment)
    return RankPoint(seq=moment.seq, at=at, rank=standing.rank, score=standing.score, own=own)
