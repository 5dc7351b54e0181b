"""What the log recorded, page by page, newest first: recalls, one of them replayed, and everything in words."""

from __future__ import annotations

import msgspec

from recollect.engine.answers import Happening
from recollect.engine.event_summaries import happening_of
from recollect.engine.log_stream import Selection
from recollect.engine.moments import iso
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events.facts import Question, Recalled
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import from_canonical
from recollect.replay.verify import Outcome, check_one
from recollect.web.requests import NotFound

_WINDOW = 1_024


class RecordedRecall(msgspec.Struct, frozen=True, kw_only=True):
    """A recall as the log has it."""

    id: str
    at: str
    query: str
    basis: int
    formula: str
    k: int
    hits: int
    best: str | None
    session: str | None
    degraded: tuple[str, ...]


class RecallPage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first; `before` asks for the page after this one, None if there is none."""

    recalls: tuple[RecordedRecall, ...]
    total: int
    before: int | None


class TimelinePage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first; `before` asks for the page after this one, None if there is none."""

    events: tuple[Happening, ...]
    head: int
    before: int | None


class RecallCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One recall ranked again; `verdict` is exact, attested, redacted, not_here or different, as in a whole verification.

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


def recalls(memory: Memory, *, before: int | None, limit: int) -> RecallPage:
    """The last `limit` recalls that were recorded before a seq."""
    return _recalls(memory.store, before, limit)


@locked
def _recalls(store: Store, before: int | None, limit: int) -> RecallPage:
    store.catch_up()
    seqs = store.projections.adoptions.recalls
    end = len(seqs) if before is None else int(seqs.searchsorted(before))
    chosen = seqs[max(0, end - limit) : end].tolist()
    found = tuple(_recorded(store, seq) for seq in reversed(chosen))
    return RecallPage(recalls=found, total=len(seqs), before=chosen[0] if end > limit else None)


def _recorded(store: Store, seq: int) -> RecordedRecall:
    recorded = store.event(seq)
    fact = recorded.fact
    if not isinstance(fact, Recalled):
        fact = Recalled(
            question=Question(text="[erased]", now=recorded.at), basis=0, formula="", ids=(), scores=()
        )
    return RecordedRecall(
        id=f"r{seq}",
        at=iso(recorded.at),
        query=fact.question.text,
        basis=fact.basis,
        formula=_label(store, fact.formula),
        k=fact.question.k,
        hits=len(fact.ids),
        best=fact.ids[0] if fact.ids else None,
        session=fact.question.session,
        degraded=fact.degraded,
    )


def _label(store: Store, digest: str) -> str:
    text = store.projections.adoptions.formulas.get(digest)
    return f"{from_canonical(text).name}@{digest[:12]}" if text else digest[:12]


def recall_fact(memory: Memory, recall: str) -> Recalled:
    """The recall of an id such as r12."""
    head = memory.store.catch_up()
    seq = int(recall[1:]) if recall[:1] == "r" and recall[1:].isascii() and recall[1:].isdecimal() else 0
    fact = memory.store.event(seq).fact if 0 < seq <= head else None
    if not isinstance(fact, Recalled):
        raise NotFound(f"{recall!r} is not the id of a recorded recall; /api/recalls lists them")
    return fact


def check(memory: Memory, recall: str) -> RecallCheck:
    """Rank one recorded recall again at its own basis, formula and clock, and compare bit for bit."""
    fact = recall_fact(memory, recall)
    one = _check_one(memory.store, int(recall[1:]))
    difference = one.difference
    return RecallCheck(
        recall=recall,
        verdict=one.found,
        exact=one.found == "exact",
        hits=len(fact.ids),
        sentence=_told(recall, len(fact.ids), one),
        redacted=one.found == "redacted",
        rank=difference.rank if difference else None,
        recorded=difference.recorded if difference else None,
        replayed=difference.replayed if difference else None,
    )


@locked
def _check_one(store: Store, seq: int) -> Outcome:
    return check_one(store.log, store.projections, seq)


def _told(recall: str, hits: int, one: Outcome) -> str:
    if one.difference is not None:
        since = f" from rank {one.difference.rank} on" if one.difference.rank else ""
        return f"{recall} comes out otherwise{since}: {one.difference.reason}"
    if one.redacted is not None:
        return one.redacted.reason
    if one.missing is not None:
        shard = f" (shard {one.missing.shard})" if one.missing.shard else ""
        return f"{recall} cannot be ranked again here: {one.missing.reason}{shard}"
    if one.found == "attested":
        return f"{recall} can no longer be ranked again; it was exact when it could."
    how = f"{hits} hits with the same ids, order and scores" if hits else "nothing, as recorded"
    return f"{recall} replays exactly: {how}."


def timeline(memory: Memory, selection: Selection, *, before: int | None, limit: int) -> TimelinePage:
    """The last `limit` matching events before a seq; the log is read backwards only as far as it must be."""
    store = memory.store
    head = store.catch_up()
    first, last = selection.span(store.log, head)
    upto = max(0, min(last, last if before is None else before - 1))
    found: list[Happening] = []
    while upto > first and len(found) <= limit:
        after = max(first, upto - _WINDOW)
        window = [r for r in store.log.read(after, upto) if selection.matches(r)]
        found += [happening_of(recorded) for recorded in reversed(window)]
        upto = after
    more = len(found) > limit
    shown = tuple(found[:limit])
    return TimelinePage(events=shown, head=head, before=shown[-1].seq if more else None)
