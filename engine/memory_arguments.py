"""What may be said of a memory: the arguments of remember and revise, checked and as the events store them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import cast

import msgspec

from recollect.engine import validate
from recollect.engine.moments import parse_time
from recollect.events.errors import InvalidInput, RecollectError, UnknownArgument
from recollect.events.facts import Ingested
from recollect.projections.lifecycle.state import LifecycleState

ARGUMENTS = frozenset(Ingested.__struct_fields__) - {"vector", "embedder", "trust"}
_CLEARABLE = {
    "priority", "project", "session", "source", "valid_from", "valid_to", "expires_at", "importance_tag", "key",
}  # fmt: skip
_TIMES = {"at", "valid_from", "valid_to", "expires_at"}
_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32
_ID_TIME_CHARACTERS = 10
_ID_RANDOM_CHARACTERS = 10


def ingested(item: str | Mapping[str, object], *, now: int) -> Ingested:
    """One item to remember, without its vector; None is the same as not given."""
    if not isinstance(item, (str, Mapping)):
        raise InvalidInput(
            f"an item to remember is a text or a mapping of remember's arguments, not {item!r}"
        )
    fields = {"content": item} if isinstance(item, str) else dict(item)
    unknown = sorted(set(fields) - ARGUMENTS)
    if unknown:
        raise InvalidInput(
            f"remember has no argument {unknown[0]!r}; it takes {', '.join(sorted(ARGUMENTS | {'supersedes'}))}"
        )
    if fields.get("content") is None:
        raise InvalidInput("an item to remember has no content")
    checked = {name: _check(name, value, now) for name, value in fields.items() if value is not None}
    fact = msgspec.convert({"id": new_memory_id(now), "at": now, **checked}, Ingested)
    validate.validity(fact.valid_from, fact.valid_to)
    return fact


def new_memory_id(now: int) -> str:
    """20 characters, sortable by time: 50 bits of milliseconds, then 50 random bits."""
    return _base32(now // 1_000, _ID_TIME_CHARACTERS) + _base32(secrets.randbits(50), _ID_RANDOM_CHARACTERS)


def _base32(number: int, characters: int) -> str:
    return "".join(_ID_ALPHABET[number >> shift & 31] for shift in range(5 * (characters - 1), -1, -5))


def tell_kept(error: BaseException, ids: list[str]) -> None:
    """Add the ids that are kept, and a sentence about them, to an error that ended `remember_many`."""
    error.kept = tuple(ids)  # type: ignore[attr-defined]
    if not ids:
        return
    note = f"the first {len(ids):,} items are kept (`kept` has their ids): go on with the item after them"
    if isinstance(error, RecollectError):
        error.args = (f"{error}; {note}", *error.args[1:])
    else:
        error.add_note(note)


def changes(
    state: LifecycleState, memory_id: str, given: Mapping[str, object], *, now: int
) -> dict[str, object]:
    """What a revision changes, without its vector; None clears what can be cleared."""
    unknown = sorted(set(given) - (ARGUMENTS - {"id"}))
    if unknown:
        known = ", ".join(sorted(ARGUMENTS - {"id"}))
        raise UnknownArgument(f"revise has no argument {unknown[0]!r}; it takes {known}")
    if not given:
        raise InvalidInput(f"revise of {memory_id!r} names nothing to change")
    cleared = {name for name, value in given.items() if value is None and name in _CLEARABLE}
    checked = {n: None if n in cleared else _check(n, value, now) for n, value in given.items()}
    validate.validity(
        cast("int | None", checked.get("valid_from", state.valid_from)),
        cast("int | None", checked.get("valid_to", state.valid_to)),
    )
    return {"at": now, **checked}


def _check(name: str, value: object, now: int) -> object:
    """One argument, as the event stores it."""
    match name:
        case "content":
            return validate.content(value)
        case "importance":
            return validate.number(value, "importance", low=0.0, high=1.0)
        case "priority":
            return validate.whole(value, "priority", low=1, high=5)
        case "tags" | "entities":
            return validate.labels(value, name)
        case _ if name in _TIMES:
            if not isinstance(value, (str, int, float, datetime)):
                raise InvalidInput(f"{name} {value!r} is not a time")
            return parse_time(value, now=now, what=name)
        case _:
            return validate.identifier(value, name)
