"""A memory as a Markdown page and back, byte for byte.

    ---
    recollect: 1
    id: redis
    kind: decision
    at: 2026-03-01T00:00:03.000000Z
    tags: [auth, "two words"]
    ---

    Auth sessions live in Postgres, not Redis

    <!-- recollect: links -->
    - replaces [[old-plan]]
    - "relates to" [[notes-3f2a|notes:7]] 0.5

A page holds what was written about a memory, not what reading it changes, so a page changes only when its memory
does. A link is the page's name, and the memory's id behind a bar where it differs; a weight of 1 is left out. The
last line with the comment begins the links; a text that holds that very line is followed by it once more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

import msgspec

from recollect.interfaces.common import front_matter
from recollect.interfaces.files.records import digest

BEGINNING = "---\nrecollect: 1\n"
LINKS = "\n\n<!-- recollect: links -->\n"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NOT_PLAIN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_UNSAFE = re.compile(r"[^a-z0-9]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")
_LINK_LINE = re.compile(r'- (\S+|"(?:[^"\\]|\\.)*") \[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\](?: ([0-9.e+-]+))?')


class PageLink(msgspec.Struct, frozen=True):
    kind: str
    id: str
    weight: float = 1.0


def name_of(memory_id: str) -> str:
    """A file name for an id that works on every system and is never that of another id."""
    if _SAFE_NAME.fullmatch(memory_id) and not _RESERVED.fullmatch(memory_id):
        return memory_id
    slug = _UNSAFE.sub("-", memory_id.lower()).strip("-")[:60]
    return f"{slug or 'memory'}-{digest(memory_id)[:12]}"


def write(fields: Mapping[str, object], content: str, links: Sequence[PageLink]) -> bytes:
    """The page; fields that are None or empty are left out."""
    lines = ["---", "recollect: 1"]
    lines += [f"{name}: {_yaml(value)}" for name, value in fields.items() if value not in (None, ())]
    text = "\n".join([*lines, "---", "", content])
    if links or LINKS in f"\n{text}\n":
        text += LINKS + "".join(f"{_link(link)}\n" for link in links)
    else:
        text += "\n"
    return text.encode()


def read(text: str) -> tuple[dict[str, object], str, list[PageLink]] | None:
    """Fields, content and links of a page; None if it is not one of ours."""
    page = front_matter.parse(text)
    if not front_matter.is_exported_page(page.fields):
        return None
    body, marker, tail = page.body.removeprefix("\n").rpartition(LINKS)
    if not marker:
        return page.fields, tail.removesuffix("\n"), []
    found = [link for line in tail.splitlines() if (link := _parse_link(line)) is not None]
    return page.fields, body, found


def _yaml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_yaml(part) for part in value)}]"
    if not isinstance(value, str):
        return repr(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN:
        return value
    escaped = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)


def _link(link: PageLink) -> str:
    kind = link.kind if _PLAIN.fullmatch(link.kind) else json.dumps(link.kind)
    name = name_of(link.id)
    alias = "" if name == link.id else f"|{quote(link.id, safe=' :/@.,;!?+*=()')}"
    return f"- {kind} [[{name}{alias}]]" + ("" if link.weight == 1 else f" {link.weight!r}")


def _parse_link(line: str) -> PageLink | None:
    match = _LINK_LINE.fullmatch(line.strip())
    if match is None:
        return None
    try:
        kind = json.loads(match[1]) if match[1].startswith('"') else match[1]
        weight = float(match[4] or 1)
    except ValueError:
        return None
    return PageLink(kind, unquote(match[3]) if match[3] else match[2], weight)
