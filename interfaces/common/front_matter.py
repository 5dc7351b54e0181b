"""Front matter: the YAML (---) or TOML (+++) block at the top of a Markdown file, and the text under it.

Blocks that could cost more than their length are refused (`yaml_block.py`, `events/toml_file.py`) as `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from recollect.events.errors import InvalidInput
from recollect.events.toml_file import parse_toml
from recollect.interfaces.common.yaml_block import Refused, load_yaml

_YAML = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PAGE_CHARACTERS_MAX = 1_000_000
_LABEL_CHARACTERS_MAX = 256
_SEPARATORS = re.compile(r"[,\s]+")
_NOT_YAML = "is not YAML"

Scalar = str | int | float | date


class Unreadable(ValueError):
    """Front matter that is not read, and why; `summary` says it in a few words."""

    def __init__(self, reason: str, *, summary: str | None = None) -> None:
        super().__init__(reason)
        self.summary = summary or reason


class Page(NamedTuple):
    """Front matter and body; `broken` says why there is front matter that is not read (it is left in the body)."""

    fields: dict[str, object]
    body: str
    broken: str = ""


def split(text: str, *, characters_max: int, toml: bool = False) -> tuple[dict[object, object], str] | None:
    """The fields of the front matter and the text after it; None without front matter."""
    if block := _YAML.match(text):
        return _from_yaml(block[1], characters_max), text[block.end() :]
    if toml and (block := _TOML.match(text)):
        return _from_toml(block[1], characters_max), text[block.end() :]
    return None


def parse(text: str) -> Page:
    """The page of a file in which front matter that cannot be read is text like the rest."""
    whole = text.removeprefix("\ufeff")
    try:
        found = split(text, characters_max=_PAGE_CHARACTERS_MAX)
    except Unreadable as error:
        return Page({}, whole, broken=error.summary)
    if found is None:
        return Page({}, whole)
    fields, body = found
    return Page({str(name): value for name, value in fields.items()}, body)


def is_exported_page(fields: Mapping[str, object] | Mapping[object, object]) -> bool:
    """Whether front matter is that of a page which `recollect export` wrote."""
    return fields.get("recollect") == 1 and "id" in fields


def labels(value: object, *, spaces: bool = False) -> tuple[str, ...]:
    """A list of labels, or one text with labels separated by commas (and with `spaces` by those), each once."""
    if isinstance(value, str):
        value = _SEPARATORS.split(value) if spaces else value.split(",")
    items = value if isinstance(value, list) else [value]
    named = (str(item).strip().lstrip("#").strip() for item in items if isinstance(item, Scalar))
    return tuple(dict.fromkeys(name[:_LABEL_CHARACTERS_MAX].strip() for name in named if name))


def _from_toml(block: str, characters_max: int) -> dict[object, object]:
    if len(block) > characters_max:
        raise Unreadable(f"has {len(block):,} characters; at most {characters_max:,} are read")
    try:
        return dict[object, object](parse_toml(block).items())
    except InvalidInput as error:
        raise Unreadable(str(error).replace("valid TOML", "TOML")) from None


def _from_yaml(block: str, characters_max: int) -> dict[object, object]:
    import yaml  # noqa: PLC0415 (only texts with front matter need it)

    try:
        fields = load_yaml(block, characters_max=characters_max)
    except Refused as error:
        raise Unreadable(str(error)) from None
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" (line {error.problem_mark.line + 2})"
        raise Unreadable(f"is not YAML: {error.problem or error.context}{line}", summary=_NOT_YAML) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise Unreadable(f"is not YAML: {error}", summary=_NOT_YAML) from None
    except ValueError as error:
        raise Unreadable(f"holds a date that does not exist: {error}", summary=_NOT_YAML) from None
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise Unreadable(f"is {type(fields).__name__}, not names with values", summary=_NOT_YAML)
    return fields
