"""Rows of any table or list of objects as records: which column means what, given or guessed.

A mapping is written `content=text,at=meta.created,tags=labels,id=uuid`: what a memory has on the left, where a row
has it on the right; dots lead into nested objects and lists. What no mapping names is guessed from the usual names
(`GUESSES`) and told. A row without an id is known by what it says, who said it, when and in which session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from recollect.engine.validate import is_seq
from recollect.events.errors import InvalidInput
from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.records import Notice, Problem, Record, digest

GUESSES: dict[str, tuple[str, ...]] = {
    "content": ("content", "text", "body", "memory", "message", "note"),
    "at": ("at", "created_at", "timestamp", "date", "created", "time", "ts", "create_time"),
    "id": ("id", "uuid", "_id", "memory_id", "guid"),
    "role": ("role", "sender"),
    "speaker": ("speaker", "author"),
    "session": ("session", "session_id", "conversation_id", "thread_id", "conversation"),
    "project": ("project",),
    "source": ("source", "url"),
    "tags": ("tags", "labels"),
    "entities": ("entities",),
    "kind": ("kind", "type", "category"),
    "importance": ("importance",),
    "priority": ("priority",),
    "valid_from": ("valid_from",),
    "valid_to": ("valid_to",),
    "expires_at": ("expires_at",),
    "importance_tag": ("importance_tag",),
    "key": ("key",),
}
_TIMES = ("valid_from", "valid_to", "expires_at")
_TEXTS = ("role", "speaker", "session", "project", "source", "kind", "importance_tag", "key")


def parse_mapping(text: str) -> dict[str, str]:
    """`content=text,at=created` as a mapping; refused if it names something that a memory does not have."""
    found: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, path = (piece.strip() for piece in part.partition("="))
        if not equals or not path or name not in GUESSES:
            raise InvalidInput(
                f"{part!r} is not a mapping; write FIELD=COLUMN, where FIELD is one of {', '.join(GUESSES)}"
            )
        found[name] = path
    return found


def complete(mapping: Mapping[str, str], columns: Iterable[str]) -> tuple[dict[str, str], list[Notice]]:
    """The mapping with guesses for what it leaves out, and what to tell about them."""
    present = {name.lower(): name for name in columns}
    taken = {path.split(".")[0] for path in mapping.values()} | set(mapping.values())
    whole = dict(mapping)
    for field, names in GUESSES.items():
        if field not in whole:
            column = next((present[n] for n in names if n in present and present[n] not in taken), None)
            if column is not None:
                whole[field] = column
                taken.add(column)
    if "content" not in whole:
        raise InvalidInput(
            f"no column looks like the content; there are {', '.join(sorted(present.values())) or 'none'}: "
            f"say which, as in --map content={next(iter(sorted(present.values())), 'COLUMN')}"
        )
    guessed = {field: path for field, path in whole.items() if field not in mapping}
    notes = (
        [Notice(note="columns taken as " + ", ".join(f"{f}={p}" for f, p in guessed.items()))]
        if guessed
        else []
    )
    ignored = sorted(name for name in present.values() if name not in taken)
    if ignored:
        notes.append(Notice(note="columns ignored: " + ", ".join(ignored)))
    if "id" not in whole:
        notes.append(Notice(note="no id column: a row is known by its text, speaker, session and time"))
    return whole, notes


def look_up(row: object, path: str) -> object:
    """The value at a dotted path; None if the path leads nowhere."""
    if isinstance(row, Mapping) and path in row:
        return row[path]
    head, _, rest = path.partition(".")
    if isinstance(row, Mapping):
        inner = row.get(head)
    elif isinstance(row, list) and is_seq(head):
        inner = row[int(head)] if int(head) < len(row) else None
    else:
        return None
    return look_up(inner, rest) if rest else inner


def record_of(row: Mapping[str, object], mapping: Mapping[str, str], *, where: str) -> Record | Problem:
    """The memory in one row, or what is wrong with it."""
    values = {field: look_up(row, path) for field, path in mapping.items()}
    try:
        content = _text(values.get("content"), "content")
        if not content or not content.strip():
            return Problem(where=where, reason=f"no content in {mapping['content']!r}")
        texts = {field: (_text(values.get(field), field) or "").strip() or None for field in _TEXTS}
        at = moment(values.get("at"))
        external = (_text(values.get("id"), "id") or "").strip()
        return Record(
            external=external or digest(content, str(at), texts["speaker"] or "", texts["session"] or ""),
            namespace=None if external else "row",
            content=content,
            at=at,
            kind=texts["kind"] or ("turn" if texts["role"] or texts["speaker"] else "note"),
            role=texts["role"],
            speaker=texts["speaker"],
            session=texts["session"],
            project=texts["project"],
            source=texts["source"],
            tags=_list(values.get("tags")),
            entities=_list(values.get("entities")),
            fields={**_further(values), **{n: texts[n] for n in ("importance_tag", "key") if texts[n]}},
            where=where,
        )
    except (ValueError, TypeError, InvalidInput) as error:
        return Problem(where=where, reason=str(error))
    except RecursionError:
        return Problem(where=where, reason="nested too deeply to be read")


def _text(value: object, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} is not text but {type(value).__name__}: {str(value)[:60]}")
    return str(value)


def _list(value: object) -> tuple[str, ...]:
    """A list of texts, a JSON list in a text, or a text with commas or semicolons."""
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else value.replace(";", ",").split(",")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of texts")
    return tuple(dict.fromkeys(text.strip().lstrip("#") for text in map(str, value) if text.strip(" #")))


def _further(values: Mapping[str, object]) -> dict[str, object]:
    """Further columns: numbers and times. What a number may be is checked where all memories are (`event_of`)."""
    found: dict[str, object] = {
        name: moment(values[name]) for name in _TIMES if values.get(name) not in (None, "")
    }
    if (importance := values.get("importance")) not in (None, ""):
        found["importance"] = _number(importance, "importance")
    if (priority := values.get("priority")) not in (None, ""):
        number = _number(priority, "priority")
        found["priority"] = int(number) if number.is_integer() else priority
    return found


def _number(value: object, what: str) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise ValueError(f"{what} is {value!r}, which is not a number") from None
