"""One recorded recall: question, actor, hits as recorded, whether it replays, and how its hits were used later."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from recollect.engine.answers import RecordedHit
from recollect.engine.moments import iso
from recollect.engine.recalls import label_of, recalled_of
from recollect.engine.remember import recall_event
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.envelope import Recorded
from recollect.events.errors import LogDamaged, UnknownRecall
from recollect.events.facts import Accessed, Context, Filters, Rated, Recalled
from recollect.projections.view import View
from recollect.replay.verify import Outcome, check_one


class Afterwards(msgspec.Struct, frozen=True, kw_only=True):
    """What was done with hits later, by an event that names the recall: used, injected, returned, or a verdict."""

    seq: int
    at: str
    what: str
    ids: tuple[str, ...]
    session: str | None


class RecallCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One recall ranked again; `verdict` is exact, attested, redacted, not_here, different or unreadable, as in a whole
    verification; or unknown, where there is no such recall. `sentence` says why.

    `redacted` means that it cannot come out as recorded, since something that it saw was erased; `rank` is where it first
    came out otherwise.
    """

    recall: str
    verdict: str
    exact: bool
    hits: int
    sentence: str
    redacted: bool = False
    rank: int | None = None
    recorded: tuple[str, float] | None = None
    replayed: tuple[str, float] | None = None


class ShownRecall(msgspec.Struct, frozen=True, kw_only=True, tag_field="thing", tag="recall"):
    """All that is known of a recall. `now` is the clock that it was ranked with, `at` when it was recorded."""

    id: str
    at: str
    actor: str
    query: str
    session: str | None
    filters: Filters
    context: Context
    k: int
    formula: str
    basis: int
    now: str
    embedder: str | None
    hits: tuple[RecordedHit, ...]
    replayed: RecallCheck
    afterwards: tuple[Afterwards, ...]
    degraded: tuple[str, ...]


@locked
def show_recall(store: Store, recall: str) -> ShownRecall:
    """A recall by its id. Of one that was erased its place, its time and its actor are left."""
    recorded = recall_event(store, recall)
    fact = recalled_of(recorded)
    question = fact.question
    return ShownRecall(
        id=f"r{recorded.seq}",
        at=iso(recorded.at),
        actor=recorded.actor,
        query=question.text,
        session=question.session,
        filters=question.filters,
        context=question.context,
        k=question.k,
        formula=label_of(store, fact.formula),
        basis=fact.basis,
        now=iso(question.now),
        embedder=question.embedder,
        hits=_hits(store, fact),
        replayed=check(store, recall),
        afterwards=_afterwards(store, recorded.seq, fact.ids),
        degraded=fact.degraded,
    )


def _hits(store: Store, fact: Recalled) -> tuple[RecordedHit, ...]:
    view = store.view(fact.basis)
    places = enumerate(zip(fact.ids, fact.scores, strict=False), 1)
    return tuple(_hit(store, view, rank, id_, score) for rank, (id_, score) in places)


def _hit(store: Store, view: View, rank: int, memory_id: str, score: float) -> RecordedHit:
    memory = view.documents.ids.find(memory_id)
    row = -1 if memory < 0 else view.documents.newest_row(memory, view.seq)
    if row < 0:
        return RecordedHit(id=memory_id, score=score, rank=rank, content=f"[was not there at @{view.seq}]")
    state = view.lifecycle.state(memory, view.seq)
    return RecordedHit(
        id=memory_id,
        score=score,
        rank=rank,
        content=store.content_of_row(row),
        kind=state.kind,
        at=iso(state.created_at),
        project=state.project,
        session=state.session,
        source=state.source,
        tags=state.tags,
        revision=state.revision_count,
    )


def _afterwards(store: Store, recall: int, ids: tuple[str, ...]) -> tuple[Afterwards, ...]:
    """The later events that name this recall; they are in the histories of its hits."""
    projections = store.projections
    found = (projections.documents.ids.find(id_) for id_ in ids)
    memories = [memory for memory in found if memory >= 0]
    seqs = {seq for memory in memories for seq in projections.lifecycle.history(memory) if seq > recall}
    named = (_named(store.event(seq), recall) for seq in sorted(seqs))
    return tuple(one for one in named if one is not None)


def _named(recorded: Recorded, recall: int) -> Afterwards | None:
    match recorded.fact:
        case Accessed(recall=seq, how=what, ids=ids, session=session) if seq == recall:
            pass
        case Rated(recall=seq, verdict=what, id=id_, session=session) if seq == recall:
            ids = (id_,)
        case _:
            return None
    return Afterwards(seq=recorded.seq, at=iso(recorded.at), what=what, ids=ids, session=session)


# --- replay ----------------------------------------------------------------------------------------


@locked
def check(store: Store, recall: str) -> RecallCheck:
    """Rank one recorded recall again at its own basis, formula and clock, and compare bit for bit."""
    recorded = recall_event(store, recall)
    hits = len(recalled_of(recorded).ids)
    one = check_one(store.log, store.projections, recorded.seq)
    difference = one.difference
    return RecallCheck(
        recall=recall,
        verdict=one.found,
        exact=one.found == "exact",
        hits=hits,
        sentence=_told(recall, hits, one),
        redacted=one.found == "redacted",
        rank=difference.rank if difference else None,
        recorded=difference.recorded if difference else None,
        replayed=difference.replayed if difference else None,
    )


def verdicts(store: Store, recalls: Iterable[str]) -> list[RecallCheck]:
    """Each of these recalls ranked again; one that cannot be says so, and leaves the others theirs."""
    return [_verdict(store, recall) for recall in recalls]


def _verdict(store: Store, recall: str) -> RecallCheck:
    try:
        return check(store, recall)
    except UnknownRecall as error:
        return RecallCheck(recall=recall, verdict="unknown", exact=False, hits=0, sentence=str(error))
    except LogDamaged as error:
        return RecallCheck(recall=recall, verdict="unreadable", exact=False, hits=0, sentence=str(error))


def _told(recall: str, hits: int, one: Outcome) -> str:
    if one.difference is not None:
        since = f" from rank {one.difference.rank} on" if one.difference.rank else ""
        return f"{recall} comes out otherwise{since}: {one.difference.reason}"
    if one.redacted is not None:
        return one.redacted.reason
    if one.missing is not None:
        shard = f" (shard {one.missing.shard})" if one.missing.shard else ""
        return f"{recall} cannot be ranked again here: {one.missing.reason}{shard}"
    if one.unreadable is not None:
        lost = one.unreadable
        return (
            f"{recall} cannot be ranked again: @{lost.seq} {lost.problem} ({lost.path}, byte {lost.offset})"
        )
    if one.found == "attested":
        return f"{recall} can no longer be ranked again; it was exact when it could."
    how = f"{hits} hits with the same ids, order and scores" if hits else "nothing, as recorded"
    return f"{recall} replays exactly: {how}."
