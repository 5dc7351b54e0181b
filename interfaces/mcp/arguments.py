"""Turn what a model sends with a tool call into the tool's arguments, or refuse it in words that it can act on.

Models guess. So a name may be written `maxTokens` or `max-tokens`, may be one of the ALIASES of an argument, a
number may come as text, one text may stand for a list, and null is the same as not given. What is left over is
refused by name, with the nearest name that is known; nothing is dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar, get_args, get_origin, get_type_hints

import msgspec

from recollect.engine.context_arguments import listed
from recollect.events.errors import InvalidInput
from recollect.interfaces.common.validation_errors import field_names, in_words, missing_field

ALIASES: dict[str, tuple[str, ...]] = {
    "query": ("q", "text", "question", "search", "prompt", "topic", "input"),
    "k": ("limit", "top_k", "topk", "n", "count", "max_results", "num_results"),
    "content": ("text", "memory", "note", "fact", "body", "message"),
    "ids": ("id", "memory_ids", "memories", "memory_id"),
    "limit": ("k", "n", "count", "top_k", "last", "max_results"),
    "id": ("memory_id", "uid", "uuid", "identifier"),
    "recall": ("recall_id", "answer", "answer_id"),
    "kind": ("type", "category"),
    "kinds": ("kind", "type", "types", "category", "categories"),
    "tags": ("tag", "labels", "label"),
    "entities": ("entity",),
    "project": ("namespace", "workspace", "scope"),
    "session": ("session_id", "conversation", "conversation_id", "thread", "thread_id"),
    "importance": ("weight", "salience"),
    "max_tokens": ("token_budget", "budget", "token_limit"),
    "at": ("when", "as_of", "date", "timestamp"),
    "since": ("from", "after", "start"),
    "until": ("to", "before", "end"),
    "reason": ("why", "because"),
    "verdict": ("rating", "feedback", "vote"),
    "a": ("from_id", "source_id", "from", "source"),
    "b": ("to_id", "target_id", "to", "target"),
    "weight": ("strength",),
    "dry_run": ("preview",),
    "last": ("recent",),
}

A = TypeVar("A", bound=msgspec.Struct)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def parse(kind: type[A], given: Mapping[str, object] | None, *, tool: str) -> A:
    """The arguments of one call; InvalidInput says what was wrong with which one, and what to do."""
    fields = _named(kind, given or {}, tool)
    lists = {name for name, hint in get_type_hints(kind).items() if _is_list(hint)}
    for name in lists & fields.keys():
        fields[name] = _listed(fields[name])
    if missing := missing_field(kind, fields):
        raise InvalidInput(f"{tool} needs {missing!r}; {_takes(kind, tool)}")
    try:
        return msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{tool}: {in_words(error, fields, kind)}") from None


def aliases(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Every other name under which an argument may come; an argument's own name is never another's alias."""
    own = set(field_names(kind))
    known: dict[str, str] = {}
    for name in field_names(kind):
        for alias in ALIASES.get(name, ()):
            if alias not in own:
                known.setdefault(alias, name)
    return known


def _named(kind: type[msgspec.Struct], given: Mapping[str, object], tool: str) -> dict[str, object]:
    """What was given, under the arguments' own names."""
    known = aliases(kind) | {name: name for name in field_names(kind)}
    fields: dict[str, object] = {}
    written: dict[str, str] = {}
    for raw, value in given.items():
        if value is None:
            continue
        name = known.get(_snake(raw))
        if name is None:
            raise InvalidInput(f"{tool} has no argument {raw!r}{_nearest(raw, known)} {_takes(kind, tool)}")
        if name in fields and fields[name] != value:
            raise InvalidInput(
                f"{tool} got {name!r} twice, as {written[name]!r} and as {raw!r}; give it once"
            )
        fields[name], written[name] = value, raw
    return fields


def _snake(name: str) -> str:
    return _CAMEL.sub("_", name.strip()).replace("-", "_").lower()


def _nearest(name: str, known: Mapping[str, str]) -> str:
    close = get_close_matches(_snake(name), known, n=1)
    return f"; did you mean {known[close[0]]!r}?" if close else ";"


def _takes(kind: type[msgspec.Struct], tool: str) -> str:
    return f"it takes {', '.join(field_names(kind))}" if field_names(kind) else f"{tool} takes no arguments"


def _is_list(hint: object) -> bool:
    return get_origin(hint) is tuple or any(get_origin(part) is tuple for part in get_args(hint))


def _listed(value: object) -> object:
    """`auth, login` and `["auth", "login"]` are the same list."""
    return listed(value) if isinstance(value, str) else value
