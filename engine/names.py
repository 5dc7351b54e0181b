"""Ids as people write them: whole, or shortened to a beginning that only one has; and what a wrong one may have meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from recollect.engine import validate
from recollect.events.envelope import Recorded, type_name
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Recalled

if TYPE_CHECKING:
    from recollect.engine.store import Store

_SHOWN = 5
_COMPARED_MAX = 20_000


def memory_named(store: Store, name: str) -> str:
    """The id of the memory that this names: a whole id wins, else the only one that begins so.

    What names none is refused with what is near; a recall's id with the command that shows it.
    """
    store.catch_up()
    ids = store.projections.documents.ids
    if ids.find(validate.identifier(name)) >= 0:
        return name
    found = [id_ for id_ in ids.values if id_.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ambiguous("memory", name, found)
    if find_recall(store, name):
        raise UnknownMemory(name, hint=f"it is a recall: `recollect show {name}` shows it")
    raise UnknownMemory(
        name, at=store.projections.position, damage=store.damage, hint=did_you_mean(name, ids.values)
    )


def pair_named(store: Store, a: str, b: str) -> tuple[str, str]:
    """The ids of two memories; the caller refuses two equal ones."""
    return (a, b) if a == b else (memory_named(store, a), memory_named(store, b))


def whole_id(store: Store, name: str) -> str:
    """Require a whole id, for operations that must not hit another memory by mistake."""
    store.catch_up()
    ids = store.projections.documents.ids
    if ids.find(validate.identifier(name)) >= 0:
        return name
    hint = f"here an id is written whole: {near}" if (near := did_you_mean(name, ids.values)) else ""
    raise UnknownMemory(name, at=store.projections.position, damage=store.damage, hint=hint)


def find_recall(store: Store, name: str) -> Recorded | None:
    """The event of the recall with this id, which may have been erased; None if there is none."""
    seq = int(name[1:]) if validate.is_recall_id(name) else 0
    recorded = store.event(seq) if 0 < seq <= store.catch_up() else None
    return None if recorded is None or recorded.type != type_name(Recalled) else recorded


def ambiguous(what: str, name: str, found: Sequence[str]) -> InvalidInput:
    shown = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else "")
    return InvalidInput(f"{len(found):,} {what} ids begin with {name!r}: {shown}; write more of it")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A suggestion for an error message: the nearest names, or an empty text."""
    if len(known) > _COMPARED_MAX:
        known = [one for one in known if one[:3] == name[:3]][:_COMPARED_MAX]
    near = [one for one in known if one.startswith(name)][:3] or get_close_matches(name, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""
