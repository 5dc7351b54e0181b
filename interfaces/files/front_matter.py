"""The YAML between two lines of dashes at the top of a Markdown file, and the text under it."""

from __future__ import annotations

import re
from typing import NamedTuple

_BLOCK = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)


class Page(NamedTuple):
    """Front matter and body; `broken` says that there is front matter which is not YAML (it is left in the body)."""

    fields: dict[str, object]
    body: str
    broken: bool = False


def parse(text: str) -> Page:
    import yaml  # noqa: PLC0415 (only for Markdown)

    block = _BLOCK.match(text)
    if block is None:
        return Page({}, text.removeprefix("\ufeff"))
    try:
        fields = yaml.load(block[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (the safe one)
    except (yaml.YAMLError, ValueError):
        return Page({}, text.removeprefix("\ufeff"), broken=True)
    if fields is None:
        fields = {}
    if not isinstance(fields, dict):
        return Page({}, text.removeprefix("\ufeff"), broken=True)
    return Page({str(name): value for name, value in fields.items()}, text[block.end() :])


def texts(value: object) -> tuple[str, ...]:
    """A list of words, or words with commas between, without repeats and leading hashes."""
    parts = value if isinstance(value, list) else str(value or "").split(",")
    words = (str(part).strip().lstrip("#").strip() for part in parts if part is not None)
    return tuple(dict.fromkeys(word for word in words if word))
