"""What happens to a call of `append` before anything is written: the same for every log.

`prepare` turns drafts into entries and refuses what cannot be stored. `same_event` decides whether an event
whose id the log holds already is a retry, or another event under a used id.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.events.envelope import Draft, Recorded, decode, encode, type_name
from recollect.events.errors import EventIdReused, InvalidInput
from recollect.events.facts import Redacted
from recollect.events.frame import META_BYTES_MAX, PAYLOAD_BYTES_MAX, Entry
from recollect.events.upcasts import VERSIONS

EVENT_ID_BYTES = 16


def prepare(drafts: Sequence[Draft]) -> list[Entry]:
    """The entries of one batch, checked; nothing is written if any is refused."""
    entries = [_entry(draft) for draft in drafts]
    ids = {entry.id for entry in entries}
    if len(ids) != len(entries):
        twice = next(entry.id for n, entry in enumerate(entries) if entry.id in {e.id for e in entries[:n]})
        raise InvalidInput(
            f"event id {twice.hex()} stands twice in one batch; give each event an id of its own"
        )
    return entries


def _entry(draft: Draft) -> Entry:
    if len(draft.id) != EVENT_ID_BYTES:
        raise InvalidInput(
            f"event id {draft.id!r} has {len(draft.id)} bytes; an event id has {EVENT_ID_BYTES}"
        )
    type_ = type_name(type(draft.fact))
    payload = encode(draft.fact)
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise InvalidInput(
            f"{type_} takes {len(payload):,} bytes and an event may have {PAYLOAD_BYTES_MAX:,}; split it"
        )
    if 1 + len(type_.encode()) + len(draft.actor.encode()) > META_BYTES_MAX:
        raise InvalidInput(f"the actor's name has {len(draft.actor):,} characters; use a shorter one")
    return Entry(draft.id, type_, VERSIONS[type_], draft.actor, payload)


def refuse_other_event(entry: Entry, stored: Recorded) -> None:
    """Raise unless `entry` is `stored` again."""
    if not same_event(entry, stored):
        raise EventIdReused(entry.id.hex(), seq=stored.seq)


def same_event(entry: Entry, stored: Recorded) -> bool:
    """Whether this is a retry: the same type and payload, or what the same fact looked like in an older version.

    Of an erased event only the type is left to compare; writing it again would undo the erasure.
    """
    if entry.type != stored.type:
        return False
    if isinstance(stored.fact, Redacted) or entry.payload == stored.payload:
        return True
    return stored.version < entry.version and decode(entry.type, entry.version, entry.payload) == stored.fact
