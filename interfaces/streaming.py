"""The log as a readable stream: every event in words, filtered, and followed while it grows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

import msgspec

from recollect.answers import Happening
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.subjects import memories_of, session_of
from recollect.events.upcasts import VERSIONS
from recollect.store import Store
from recollect.summary import summarize
from recollect.when import When, iso, parse_seq

POLL_S = 0.2


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to show: those with after < seq <= upto that match everything given.

    A type is a whole name (`memory.ingested`) or the part before the dot (`memory`).
    """

    after: int = 0
    upto: int | None = None
    memory: str | None = None
    session: str | None = None
    type: str | None = None

    def matches(self, recorded: Recorded) -> bool:
        if self.type is not None and not _is_of(recorded.type, self.type):
            return False
        if self.session is not None and session_of(recorded.fact) != self.session:
            return False
        return self.memory is None or self.memory in memories_of(recorded.fact)


def select(
    store: Store, *, memory: str | None, session: str | None, type_: str | None, since: When | None, until: When | None
) -> Selection:  # fmt: skip
    """The selection that a caller describes; both ends are included."""
    store.catch_up()
    if type_ is not None:
        _check_type(store, type_)
    return Selection(
        after=0 if since is None else _before(store, since),
        upto=None if until is None else store.resolve(until)[0],
        memory=memory,
        session=session,
        type=type_,
    )


def stream(
    store: Store, selection: Selection, *, limit: int | None = None, follow: bool = False
) -> Iterator[Happening]:
    """The selected events, oldest first; with `limit` only the last so many, with `follow` also what comes."""
    head = store.log.refresh()
    upto = head if selection.upto is None else min(head, selection.upto)
    found = filter(selection.matches, store.log.read(selection.after, upto))
    for recorded in found if limit is None else deque(found, maxlen=limit):
        yield happening_of(recorded)
    while follow and (selection.upto is None or head < selection.upto):
        time.sleep(POLL_S)
        new_head = store.log.refresh()
        for recorded in store.log.read(max(head, selection.after), min(new_head, selection.upto or new_head)):
            if selection.matches(recorded):
                yield happening_of(recorded)
        head = new_head


def happening_of(recorded: Recorded) -> Happening:
    return Happening(
        seq=recorded.seq,
        at=iso(recorded.at),
        type=recorded.type,
        actor=recorded.actor,
        summary=summarize(recorded.fact),
    )


def _is_of(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}.")


def _check_type(store: Store, type_: str) -> None:
    known = sorted({*VERSIONS, *store.log.status().unknown_types})
    if not any(_is_of(name, type_) for name in known):
        raise InvalidInput(f"there is no event type {type_!r}; there are {', '.join(known)}")


def _before(store: Store, since: When) -> int:
    """The position before the first event that `since` includes."""
    seq = parse_seq(since)
    if seq is not None:
        return max(seq - 1, 0)
    return store.log.seq_at(store.resolve(since)[1] - 1)
