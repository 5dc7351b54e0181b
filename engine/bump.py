"""How the memories of an answer changed places: one line per memory, its rank at positions between two moments.

Each position is ranked once for all of them, with the corpus, formula and clock of that moment.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from recollect.engine import validate
from recollect.engine.event_summaries import summarize
from recollect.engine.moments import iso
from recollect.engine.recall import Standpoint
from recollect.engine.recall_options import RecallOptions
from recollect.engine.recorded_question import posed
from recollect.engine.time_travel import inquiry_of
from recollect.engine.torn_state import locked
from recollect.events.envelope import type_name
from recollect.events.facts import Forgotten, Ingested, Pruned, Restored, Revised, Superseded
from recollect.replay.changes.inquiry import Moment, position_of

POINTS_MAX = 200
LINES_MAX = 50
_TOLD = frozenset(map(type_name, (Ingested, Revised, Superseded, Forgotten, Restored, Pruned)))


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """An event that changed the memory."""

    seq: int
    what: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A memory's rank at each position, None where it was not ranked, and its own events in between."""

    id: str
    ranks: tuple[int | None, ...]
    marks: tuple[Mark, ...]


class Bump(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    seqs: tuple[int, ...]
    at: tuple[str, ...]
    lines: tuple[Line, ...]
    degraded: tuple[str, ...] = ()


@locked
def bump(
    here: Standpoint, query: str, options: RecallOptions, ids: Sequence[str], *, since: int, until: int, points: int
) -> Bump:  # fmt: skip
    """The ranks of these memories at about `points` positions, their own events among them."""
    validate.whole(points, "points", low=2, high=POINTS_MAX)
    store = here.store
    head = store.catch_up()
    since, until = min(since, head), min(until, head)
    asked = posed(store, query, options, required=True)
    inquiry = inquiry_of(here, asked, now=store.log.effective_time(until))
    histories = {id_: _own(here, id_, since, until) for id_ in list(ids)[:LINES_MAX]}
    own = _told_first(here, sorted({seq for history in histories.values() for seq in history}), points // 2)
    spread = np.linspace(since, until, max(points - len(own), 2)).round().astype(int).tolist()
    seqs = sorted({store.projections.adoptions.whole(seq) for seq in (*own, *spread)})
    rankings = [inquiry.ranking(Moment(seq, store.log.effective_time(seq))) for seq in seqs]
    find = store.projections.documents.ids.find
    return Bump(
        query=asked.text,
        seqs=tuple(seqs),
        at=tuple(iso(store.log.time_of(seq)) for seq in seqs),
        lines=tuple(
            Line(
                id=id_,
                ranks=tuple(position_of(ranking, find(id_))[0] for ranking in rankings),
                marks=tuple(
                    Mark(seq=seq, what=summarize(store.event(seq).fact)) for seq in history[-points:]
                ),
            )
            for id_, history in histories.items()
        ),
        degraded=inquiry.degraded,
    )


def _told_first(here: Standpoint, seqs: list[int], most: int) -> list[int]:
    """So many of these events: what was told about a memory before what use and dreams did to it, the latest first."""
    kinds = {seq: here.store.event(seq).type for seq in seqs}
    return sorted(seqs, key=lambda seq: (kinds[seq] in _TOLD, seq))[-most:]


def _own(here: Standpoint, memory_id: str, since: int, until: int) -> list[int]:
    projections = here.store.projections
    memory = projections.documents.ids.find(memory_id)
    return (
        [seq for seq in projections.lifecycle.history(memory) if since <= seq <= until] if memory >= 0 else []
    )
