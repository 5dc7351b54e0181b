"""Text that came from outside, made safe to show to people and models: nothing in it is obeyed, nothing looks like ours.

A terminal obeys escape sequences, a reader is misled by other directions and by characters that show nothing, and a
line break lets a memory write what looks like the next hit. So every renderer for terminals is `@drawing` and every one
for models is `@telling`: it gets its result through `spelled`, which spells such characters out (`\\x1b`, `\\u202e`) in
every string of it. Most become one line (`inline`); contents keep their lines (`visible`), which the renderer indents
(`block`); ids can be read back (`identifier`). What is meant for programs is exact in a pipe; on a terminal JSON has its
own escapes for the same characters (`escaped`), and rows are spelled (`cells`).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from enum import Enum
from functools import wraps
from pathlib import PurePath
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

INDENT = "    "
_UNSAFE = (
    "\x00-\x1f\x7f-\x9f"  # C0 and C1: escape sequences, carriage return, backspace
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # format characters, other directions, tags: what shows nothing or turns the text around
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0d\uffa0"  # blanks that are no spaces
    "\ud800-\udfff"
)
_ANY_UNSAFE = re.compile(f"[{_UNSAFE}]")
_BUT_LINES = re.compile(f"(?!\n)[{_UNSAFE}]")
_BUT_CELLS = re.compile(f"(?![\n\t])[{_UNSAFE}]")
_WORD = rf'[^\s"\\\[\]<{_UNSAFE}]+'
_PLAIN = re.compile(rf"{_WORD}(?: {_WORD})*")
_IDS = frozenset(
    {"id", "ids", "left_out_ids", "superseded_by", "above", "against", "derived", "passed", "passed_by"}
)
_TEXTS = frozenset({"content", "query", "rows", "text"})


def visible(text: str) -> str:
    """Spell out characters that a terminal or a model would obey; keep the lines."""
    if text.isascii() and text.isprintable():
        return text
    return _BUT_LINES.sub(_spell, text.replace("\r\n", "\n").replace("\t", INDENT))


def inline(text: str) -> str:
    """The text on one line."""
    return text if text.isascii() and text.isprintable() else _ANY_UNSAFE.sub(_spell, text)


def cells(text: str) -> str:
    """Rows of a table for programs: tabs and line breaks stay, as they part cells and rows."""
    return _BUT_CELLS.sub(_spell, text)


def escaped(document: str) -> str:
    """A JSON document that means the same, with these characters escaped in its strings."""
    return _BUT_LINES.sub(_spell_json, document)


def block(text: str, indent: str = INDENT) -> str:
    """Indent every line but the first, so that none looks like a line of ours."""
    return visible(text).replace("\n", f"\n{indent}")


def identifier(text: str) -> str:
    """An id as it is, or as a JSON string if it could be taken for more than one word among ours."""
    if _PLAIN.fullmatch(text):
        return text
    return _ANY_UNSAFE.sub(_spell_json, json.dumps(text, ensure_ascii=False))


def closed(text: str) -> str:
    """A text for a model, in which no tag ends: what stands around it may be marked by tags."""
    return text.replace("</", "<\\/")


def drawing(render: Callable[Concatenate[T, P], None]) -> Callable[Concatenate[T, P], None]:
    """A renderer for a terminal, which gets its result spelled out."""

    @wraps(render)
    def draw(result: T, /, *args: P.args, **options: P.kwargs) -> None:
        render(spelled(result), *args, **options)

    return draw


def telling(render: Callable[[T], str]) -> Callable[[T], str]:
    """A renderer for a model, which gets its result spelled out."""

    @wraps(render)
    def tell(result: T) -> str:
        return closed(render(spelled(result)))

    return tell


def spelled(value: T, name: str = "") -> T:
    """A result with every string in it safe to show; `name` is the field that it stands in."""
    return cast("T", _spelled(value, name))


def _spelled(value: Any, name: str) -> Any:
    if isinstance(value, str) and not isinstance(value, Enum):
        return identifier(value) if name in _IDS else visible(value) if name in _TEXTS else inline(value)
    if isinstance(value, msgspec.Struct):
        shown = copy.copy(value)
        for field in value.__struct_fields__:
            msgspec.structs.force_setattr(shown, field, _spelled(getattr(value, field), field))
        return shown
    if isinstance(value, dict):
        return {_spelled(key, ""): _spelled(one, name) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_spelled(one, field) for one, field in zip(value, value._fields, strict=True)))
    if isinstance(value, (tuple, list)):
        return type(value)(_spelled(one, name) for one in value)
    return type(value)(inline(str(value))) if isinstance(value, PurePath) else value


def _spell(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _spell_json(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
