"""The fields of a note's front matter that a memory can hold.

tags, tag → tags; title; aliases, alias → entities; date, created, else updated → when it was written; valid_from
and valid_to. Other keys are ignored. A field that cannot be read makes the file unreadable, with the reason. A page that
`recollect export` wrote is not a note: the store would remember itself.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime

from recollect.engine.moments import micros
from recollect.interfaces.common import front_matter
from recollect.interfaces.common.front_matter import Scalar, is_exported_page, labels, split
from recollect.interfaces.folders.chunk import EXPORTED, Meta, NoNote, Unreadable

_CHARACTERS_MAX = 65_536


def take(text: str) -> tuple[Meta, str]:
    """What the front matter says, and the text after it."""
    try:
        found = split(text, characters_max=_CHARACTERS_MAX, toml=True)
    except front_matter.Unreadable as error:
        raise Unreadable(f"front matter {error}") from None
    if found is None:
        return Meta(), text
    fields, rest = found
    if is_exported_page(fields):
        raise NoNote(EXPORTED)
    return read(fields), rest


def read(fields: dict[object, object]) -> Meta:
    title = fields.get("title")
    meta = Meta(
        title=" ".join(str(title).split()) or None if isinstance(title, Scalar) else None,
        tags=labels(fields.get("tags") or fields.get("tag"), spaces=True),
        aliases=labels(fields.get("aliases") or fields.get("alias")),
        at=next(
            (moment(fields[name], name) for name in ("date", "created", "updated") if fields.get(name)), None
        ),
        valid_from=moment(fields.get("valid_from"), "valid_from"),
        valid_to=moment(fields.get("valid_to"), "valid_to"),
    )
    if meta.valid_from is not None and meta.valid_to is not None and meta.valid_from >= meta.valid_to:
        raise Unreadable("front matter: valid_from must come before valid_to")
    return meta


def moment(value: object, what: str) -> int | None:
    """A date or time in µs; a date alone is its midnight in UTC."""
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        with suppress(ValueError):
            value = datetime.fromisoformat(str(value).strip())
    if not isinstance(value, datetime):
        raise Unreadable(f"front matter: {what} {value!r} is not a date; write it as 2026-11-01")
    return micros(value)
