"""Say why values cannot be converted to a Struct, in words that a person or a model can act on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec

from recollect.query.nearest import there_are

_TYPES = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list",
    "object": "an object",
}  # fmt: skip
_VALUE_SHOWN = 200
_FIELD = re.compile(r"`\$\.(\w+)")
_UNKNOWN = re.compile(r"Object contains unknown field `(.+?)`")
_NAMED_TYPES = re.compile(r"`([a-z| ]+)`")


def field_names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The names of a Struct's fields, required ones first."""
    fields = sorted(msgspec.structs.fields(kind), key=lambda field: not field.required)
    return tuple(field.encode_name for field in fields)


def missing_field(kind: type[msgspec.Struct], given: Mapping[str, object]) -> str | None:
    """The first required field that is not given."""
    required = (field.encode_name for field in msgspec.structs.fields(kind) if field.required)
    return next((name for name in required if name not in given), None)


def in_words(error: msgspec.ValidationError, fields: Mapping[str, object], kind: type[msgspec.Struct]) -> str:
    """`Expected `int`, got `str` - at `$.k`` as: k is 'five'; it must be a whole number."""
    problem = str(error)
    found = _FIELD.search(problem)
    name = found[1] if found else ""
    hint = get_type_hints(kind).get(name)
    if unknown := _UNKNOWN.match(problem):
        return f"{name or 'this'} has no {unknown[1]!r}; {there_are(unknown[1], _keys(hint) if name else kind.__struct_fields__)}"
    said = problem.partition(" - at ")[0].removeprefix("Expected ").partition(", got")[0]
    choices = _choices(hint)
    expected = f"one of {', '.join(choices)}" if choices else _NAMED_TYPES.sub(_type_in_words, said)
    if name not in fields:
        return expected
    value = repr(fields[name])
    shown = value if len(value) <= _VALUE_SHOWN else f"{value[:_VALUE_SHOWN]}…"
    return f"{name} is {shown}; it must be {expected}"


def _type_in_words(types: re.Match[str]) -> str:
    """`str | null` as: text. What may be left out need not be null."""
    named = [one.strip() for one in types[1].split("|")]
    return " or ".join(_TYPES.get(one, one) for one in named if one != "null")


def _keys(hint: object) -> tuple[str, ...]:
    """The fields of a Struct, also of one that may be left out."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint.__struct_fields__
    return next((found for part in get_args(hint) if (found := _keys(part))), ())


def _choices(hint: object) -> tuple[str, ...]:
    """The words of a Literal, also of a list of them."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for part in get_args(hint) if (found := _choices(part))), ())
