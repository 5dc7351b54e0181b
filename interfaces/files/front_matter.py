"""The YAML between two lines of dashes at the top of a Markdown file, and the text under it."""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.interfaces.common.yaml_block import Refused, load_yaml

_CHARACTERS_MAX = 1_000_000
_BLOCK = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)


class Page(NamedTuple):
    """Front matter and body; `broken` says why there is front matter that is not read (it is left in the body)."""

    fields: dict[str, object]
    body: str
    broken: str = ""


def parse(text: str) -> Page:
    import yaml  # noqa: PLC0415 (only for Markdown)

    block = _BLOCK.match(text)
    if block is None:
        return Page({}, text.removeprefix("\ufeff"))
    try:
        fields = load_yaml(block[1], characters_max=_CHARACTERS_MAX)
    except Refused as error:
        return Page({}, text.removeprefix("\ufeff"), broken=str(error))
    except (yaml.YAMLError, ValueError):
        return Page({}, text.removeprefix("\ufeff"), broken="is not YAML")
    if fields is None:
        fields = {}
    if not isinstance(fields, dict):
        return Page({}, text.removeprefix("\ufeff"), broken="is not YAML")
    return Page({str(name): value for name, value in fields.items()}, text[block.end() :])


def texts(value: object) -> tuple[str, ...]:
    """A list of words, or words with commas between, without repeats and leading hashes."""
    parts = value if isinstance(value, list) else str(value or "").split(",")
    words = (str(part).strip().lstrip("#").strip() for part in parts if part is not None)
    return tuple(dict.fromkeys(word for word in words if word))
