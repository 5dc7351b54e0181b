"""The log as a readable stream: every event in words, filtered, and followed while it grows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypedDict, Unpack

import msgspec

from recollect.engine.answers import Happening
from recollect.engine.event_summaries import happening_of
from recollect.engine.moments import Edge, When, iso, parse_seq
from recollect.engine.names import memory_named
from recollect.engine.store import Store
from recollect.engine.validate import is_recall_id, whole
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.log import Log
from recollect.events.subjects import memories_of, session_of
from recollect.events.upcasts import VERSIONS

POLL_S = 0.2


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to show: those with after < seq <= upto that match everything given.

    `since_at` and `until_at` are times in µs, both included; they may lie ahead of the log. A type is a whole name (`memory.ingested`) or the part before the dot (`memory`).
    """

    after: int = 0
    upto: int | None = None
    since_at: int | None = None
    until_at: int | None = None
    memory: str | None = None
    session: str | None = None
    type: str | None = None

    def span(self, log: Log, head: int) -> tuple[int, int]:
        """The part of a log with this head that the events lie in, as after < seq <= upto; later it may be longer."""
        after, upto = self.after, head if self.upto is None else min(head, self.upto)
        if self.since_at is not None:
            after = max(after, log.seq_at(self.since_at - 1))
        if self.until_at is not None:
            upto = min(upto, log.seq_at(self.until_at))
        return after, upto

    def is_over(self, log: Log, head: int, now: int) -> bool:
        """Whether nothing that comes after this head can be selected: it is stamped with the clock, or with the
        time of the head where that is a little ahead; a head that ran away will be corrected (`events.clock`)."""
        if self.upto is not None and head >= self.upto:
            return True
        by = now if log.clock_ahead(now) else max(now, log.time_of(head))
        return self.until_at is not None and by > self.until_at

    def matches(self, recorded: Recorded) -> bool:
        if self.type is not None and not _is_of(recorded.type, self.type):
            return False
        if self.session is not None and session_of(recorded.fact) != self.session:
            return False
        return self.memory is None or self.memory in memories_of(recorded.fact)


class _Bound(NamedTuple):
    """One end of a selection: a seq, or a recorded time in µs."""

    seq: int | None = None
    at: int | None = None


class LogFilters(TypedDict, total=False):
    """Which events `Memory.log` shows; `since` and `until` are moments, and both are included."""

    memory: str | None
    session: str | None
    type: str | None
    since: When | None
    until: When | None


def select(
    store: Store, *, memory: str | None = None, session: str | None = None, type: str | None = None,  # noqa: A002
    since: When | None = None, until: When | None = None, follow: bool = False,
) -> Selection:  # fmt: skip
    """The selection that these filters describe; with `follow` they may name a seq that is to come."""
    head = store.catch_up()
    if type is not None:
        _check_type(store, type)
    if memory is not None:
        memory = memory_named(store, memory)
    first = _bound(store, since, edge="begins", newest=None if follow else head + 1)
    last = _bound(store, until, edge="ends", newest=None if follow else head)
    _check_order(store, first, last)
    return Selection(
        after=max((first.seq or 1) - 1, 0),
        upto=last.seq,
        since_at=first.at,
        until_at=last.at,
        memory=memory,
        session=session,
        type=type,
    )


def read_log(
    store: Store, *, limit: int | None, follow: bool, full: bool, **filters: Unpack[LogFilters]
) -> Iterator[Happening | None]:
    """The log in words, oldest first; `limit` shows the last so many, `full` cuts no text.

    With `follow` also what comes: None stands where the caller has to wait for it, `POLL_S` at a time.
    """
    if limit is not None:
        whole(limit, "limit", low=1, high=10**9)
    return _read(store, select(store, follow=follow, **filters), limit, follow=follow, full=full)


def waiting(events: Iterator[Happening | None]) -> Iterator[Happening]:
    """The events of `read_log`, for a caller that may sleep until there are more."""
    for event in events:
        if event is None:
            time.sleep(POLL_S)
        else:
            yield event


def _read(
    store: Store, selection: Selection, limit: int | None, *, follow: bool, full: bool
) -> Iterator[Happening | None]:
    now, head = store.clock(), _readable_head(store)
    after, upto = selection.span(store.log, head)
    found = filter(selection.matches, store.log.read(after, upto))
    for recorded in found if limit is None else deque(found, maxlen=limit):
        yield happening_of(recorded, full=full)
    while follow and not selection.is_over(store.log, head, now):
        yield None
        now, head = store.clock(), _readable_head(store)
        shown, (after, upto) = upto, selection.span(store.log, head)
        for recorded in filter(selection.matches, store.log.read(max(shown, after), upto)):
            yield happening_of(recorded, full=full)


def _readable_head(store: Store) -> int:
    """The head, or the last event before damage that is known of."""
    head = store.log.refresh()
    return head if store.damage is None else min(head, store.projections.position)


def _is_of(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}.")


def _check_type(store: Store, type_: str) -> None:
    known = sorted({*VERSIONS, *store.log.status().unknown_types})
    if not any(_is_of(name, type_) for name in known):
        raise InvalidInput(f"there is no event type {type_!r}; there are {', '.join(known)}")


def _bound(store: Store, when: When | None, *, edge: Edge, newest: int | None) -> _Bound:
    """An end as a caller wrote it; with `newest` a seq must not lie behind that, nor a time ahead."""
    if when is None:
        return _Bound()
    recall = isinstance(when, str) and is_recall_id(when)
    seq = store.resolve(when)[0] if recall else parse_seq(when)
    if seq is None:
        return _Bound(at=store.resolve(when, edge=edge, ahead=newest is None)[1])
    if seq < 0 or (newest is not None and seq > newest):
        raise InvalidInput(f"@{seq} is not in this log, which ends at @{store.log.head}")
    return _Bound(seq=seq)


def _check_order(store: Store, first: _Bound, last: _Bound) -> None:
    """Refuse ends that nothing can lie between; a seq and a time are compared if the log has the seq."""
    begin, end = first.seq, last.seq
    if begin is None or end is None:
        begin, end = _at(store, first), _at(store, last)
    if begin is not None and end is not None and begin > end:
        raise InvalidInput(f"since ({_said(first)}) lies after until ({_said(last)}); swap them")


def _at(store: Store, bound: _Bound) -> int | None:
    if bound.seq is not None and bound.seq <= store.log.head:
        return store.log.effective_time(bound.seq)
    return bound.at


def _said(bound: _Bound) -> str:
    return f"@{bound.seq}" if bound.at is None else iso(bound.at)
