"""stale: answers given from a memory after it had been superseded, contradicted or had stopped being valid.

    superseded      from the event on (`supersede`, or an edge `supersedes` to it), until it is restored; and, by valid
                    time, from when the memory that replaced it holds
    contradicted    from the event on: an edge `contradicts` to it, until that is taken away
    not valid       the time asked about, which is the question's clock unless it named another, is not before its
                    `valid_to`, as it is known today

What became known only later counts too, and says so (`known`): the answer was wrong, but the store could not know.
Nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from recollect.engine.memories import memo
from recollect.engine.moments import iso
from recollect.engine.relations import SUPERSEDES
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.events.envelope import Recorded
from recollect.events.facts import Filters, Linked, MemoryId, Recalled, Restored, Superseded, Unlinked
from recollect.projections.columns import NEVER
from recollect.projections.view import View

CONTRADICTS = frozenset({"contradicts", "contradiction"})

StaleKind = Literal["superseded", "contradicted", "not valid"]
_PROGRESS_EVERY = 500


class StaleCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer was stale, `since` when and `by` which memory; `known` says that the store knew when it answered."""

    kind: StaleKind
    since: str
    by: MemoryId | None
    known: bool


class StaleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One memory in one recorded answer, the session that got it, and whether the memory is still `answering`."""

    recall: str
    at: str
    query: str
    session: str | None
    actor: str
    id: MemoryId
    content: str
    rank: int
    causes: tuple[StaleCause, ...]
    answering: bool


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """The stale answers, newest first. `answering` are the memories among them that still answer today."""

    basis: int
    checked: int
    answers: tuple[StaleAnswer, ...]
    answering: tuple[MemoryId, ...]
    sessions: tuple[str, ...]


class _Span(NamedTuple):
    """From one event to before another, a memory was superseded or contradicted by another one."""

    kind: StaleKind
    by: MemoryId
    first: int
    end: int
    edge: str = ""


class _End(NamedTuple):
    """A moment (µs) in valid time from which a memory no longer held; `by` holds since, as the event at `told` says."""

    kind: StaleKind
    by: MemoryId | None
    moment: int
    told: int


@locked
def stale(store: Store, progress: Progress | None = None) -> Stale:
    """Every recorded answer that was given from a memory which no longer held, as is known today."""
    view = store.view()
    spans = _spans(store, view)
    ends = _ends(view, spans)
    recalls = view.adoptions.recalls.tolist()
    now = store.clock()
    found: list[StaleAnswer] = []
    for number, seq in enumerate(recalls, 1):
        recorded = store.event(seq)
        found += _stale_hits(store, view, recorded, spans, ends, now)
        if progress and (number % _PROGRESS_EVERY == 0 or number == len(recalls)):
            progress(number, len(recalls))
    found.reverse()
    return Stale(
        basis=view.seq,
        checked=len(recalls),
        answers=tuple(found),
        answering=tuple(dict.fromkeys(one.id for one in found if one.answering)),
        sessions=tuple(dict.fromkeys(one.session for one in found if one.session is not None)),
    )


def _spans(store: Store, view: View) -> dict[MemoryId, list[_Span]]:
    """When each memory was superseded or contradicted, and by which, from the log."""
    found: dict[MemoryId, list[_Span]] = defaultdict(list)
    for recorded in store.log.read(0, view.seq):
        match recorded.fact:
            case Superseded(old=old, new=new):
                found[old].append(_Span("superseded", new, recorded.seq, NEVER))
            case Linked(a=new, b=old, kind=kind) if kind == SUPERSEDES:
                found[old].append(_Span("superseded", new, recorded.seq, NEVER, kind))
            case Linked(a=new, b=old, kind=kind) if kind in CONTRADICTS:
                found[old].append(_Span("contradicted", new, recorded.seq, NEVER, kind))
            case Unlinked(a=new, b=old, kind=kind):
                found[old] = [
                    _ended(span, recorded.seq, span.by == new and span.edge and kind in (None, span.edge))
                    for span in found.pop(old, [])
                ]
            case Restored(id=id_):
                found[id_] = [
                    _ended(span, recorded.seq, span.kind == "superseded") for span in found.pop(id_, [])
                ]
            case _:
                pass
    return found


def _ended(span: _Span, seq: int, ends: object) -> _Span:
    return span._replace(end=seq) if ends and span.end == NEVER else span


def _ends(view: View, spans: dict[MemoryId, list[_Span]]) -> dict[MemoryId, list[_End]]:
    """From when each memory no longer held in valid time, as is known at the view."""
    found: dict[MemoryId, list[_End]] = defaultdict(list)
    ids = view.documents.ids
    columns = view.lifecycle.at(np.arange(view.documents.memories, dtype=np.int64), view.seq)
    valid_to = columns.valid_to
    for memory in np.flatnonzero(valid_to != NEVER).tolist():
        found[ids.values[memory]].append(_End("not valid", None, int(valid_to[memory]), 0))
    for old, those in spans.items():
        for span in those:
            new = ids.find(span.by)
            if span.kind != "superseded" or span.end != NEVER or new < 0:
                continue
            holds_from = view.lifecycle.state(new, view.seq).valid_from
            if holds_from is not None:
                found[old].append(_End("superseded", span.by, holds_from, span.first))
    return found


def _stale_hits(
    store: Store, view: View, recorded: Recorded, spans: dict[MemoryId, list[_Span]], ends: dict[MemoryId, list[_End]],
    now: int,
) -> Iterator[StaleAnswer]:  # fmt: skip
    recalled = recorded.fact
    if not isinstance(recalled, Recalled):
        return
    for rank, id_ in enumerate(recalled.ids, 1):
        if id_ not in spans and id_ not in ends:
            continue
        causes = (
            *_within(store, recalled, spans.get(id_, [])),
            *_after(view, recalled, id_, ends.get(id_, [])),
        )
        if causes:
            known = memo(store, view, id_)
            yield StaleAnswer(
                recall=f"r{recorded.seq}",
                at=iso(recorded.at),
                query=recalled.question.text,
                session=recalled.question.session,
                actor=recorded.actor,
                id=id_,
                content=known.content,
                rank=rank,
                causes=causes,
                answering=known.visible and _admitted(view, id_, now),
            )


def _within(store: Store, recalled: Recalled, spans: list[_Span]) -> Iterator[StaleCause]:
    """What the log had said of the memory when it answered."""
    for span in spans:
        if span.first <= recalled.basis < span.end:
            since = iso(store.log.effective_time(span.first))
            yield StaleCause(kind=span.kind, since=since, by=span.by, known=True)


def _after(view: View, recalled: Recalled, id_: MemoryId, ends: list[_End]) -> Iterator[StaleCause]:
    """What is known today of the time that the question asked about."""
    filters = recalled.question.filters
    asked = recalled.question.now if filters.valid_at is None else filters.valid_at
    for end in ends:
        if asked < end.moment:
            continue
        if end.kind == "not valid":
            memory = np.array([view.documents.ids.find(id_)])
            known = int(view.lifecycle.at(memory, recalled.basis).valid_to[0]) == end.moment
        else:
            known = end.told <= recalled.basis
            if known:
                continue  # the event itself says so
        yield StaleCause(kind=end.kind, since=iso(end.moment), by=end.by, known=known)


def _admitted(view: View, id_: MemoryId, now: int) -> bool:
    """Whether a question asked now would let this memory answer."""
    memory = np.array([view.documents.ids.find(id_)])
    return bool(view.lifecycle.admissible(memory, seq=view.seq, now=now, filters=Filters(valid_at=now))[0])
