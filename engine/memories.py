"""Looking at memories without ranking them: one memory's state, its history, all of them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from recollect.engine import validate
from recollect.engine.answers import Happening, Memo
from recollect.engine.event_summaries import happening_of
from recollect.engine.names import memory_named
from recollect.engine.recall_options import parsed
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.errors import UnknownMemory
from recollect.events.facts import Filters, Redacted
from recollect.projections.view import View

_LIMIT_MAX = 1_000_000_000


def get(store: Store, name: str, seq: int | None) -> Memo:
    """A memory by its id or the beginning of it, at a seq or now."""
    view = store.view(seq)
    return memo(store, view, memory_named(store, name))


@locked
def memo(store: Store, view: View, memory_id: str) -> Memo:
    """A memory at a view, visible or not; it must have been born by then."""
    return _memo(store, view, *born(store, view, memory_id))


def born(store: Store, view: View, memory_id: str) -> tuple[int, int]:
    """The number of a memory and its newest row at a view; it must have been born by then."""
    memory = view.documents.ids.find(memory_id)
    row = -1 if memory < 0 else view.documents.newest_row(memory, view.seq)
    if row < 0:
        raise UnknownMemory(memory_id, at=view.seq, damage=store.damage)
    return memory, row


def _memo(store: Store, view: View, memory: int, row: int) -> Memo:
    state = view.lifecycle.state(memory, view.seq)
    visible = bool(view.documents.alive(np.array([row]), view.seq)[0])
    erased_at = erasure_of(store, view, row)
    if erased_at is not None:
        state = msgspec.structs.replace(state, visibility="erased")
    return Memo(
        id=view.documents.ids.values[memory],
        at=view.seq,
        content=store.content_of_row(row),
        state=state,
        visible=visible,
        hidden_because=None if visible else f"erased at @{erased_at}" if erased_at else state.hidden,
        erased_at=erased_at,
    )


def erasure_of(store: Store, view: View, row: int) -> int | None:
    """The seq at which the text of a row was erased; None if it is there."""
    fact = store.event(view.documents.source(row)).fact
    return fact.erased_at if isinstance(fact, Redacted) else None


@locked
def memos(
    store: Store, seq: int | None, filters: Filters | Mapping[str, object] | None, *, now: int, limit: int | None = None
) -> list[Memo]:  # fmt: skip
    """All visible memories at a seq, or now, that pass the filters, in order of birth; with `limit` those made last."""
    view, scope = store.view(seq), parsed(Filters, filters, now=now)
    documents = view.documents
    rows = documents.living(view.seq)
    memories = documents.memory_of[rows]
    wanted = view.lifecycle.admissible(memories, seq=view.seq, now=now, filters=scope)
    rows, memories = rows[wanted], memories[wanted]
    if limit is not None:
        count = validate.whole(limit, "limit", low=1, high=_LIMIT_MAX)
        newest = np.argsort(view.lifecycle.at(memories, view.seq).created_at, kind="stable")[-count:]
        rows = rows[np.sort(newest)]
    return [_memo(store, view, int(documents.memory_of[row]), int(row)) for row in rows]


def history(store: Store, name: str, *, full: bool = False) -> list[Happening]:
    """Every event that touched a memory, oldest first."""
    memory_id, view = memory_named(store, name), store.view()
    memory, _ = born(store, view, memory_id)
    seqs = {*view.lifecycle.history(memory), *view.graph.history(memory)}
    return [happening_of(store.event(seq), full=full) for seq in sorted(seqs) if seq <= view.seq]
