"""Org files by heading, with #+TITLE, #+DATE, #+FILETAGS, #+ALIAS and the tags of headings."""

from __future__ import annotations

import re

from recollect.folders.chunk import Chunk, Meta, finish
from recollect.folders.front_matter import labels, moment
from recollect.folders.outline import Outline

_HEADING = re.compile(r"(\*+)[ \t]+(.*?)(?:[ \t]+(:[\w@#%:]+:))?[ \t]*$")
_KEYWORD = re.compile(r"#\+(\w+):[ \t]*(.*?)[ \t]*$")
_TODO = re.compile(r"(?:TODO|DONE|NEXT|WAITING)[ \t]+|\[#[A-Z]\][ \t]+")
_DATE = re.compile(r"[<\[]?(\d{4}-\d{2}-\d{2})")
_BLOCK = re.compile(r"[ \t]*#\+(begin|end)_", re.IGNORECASE)
_DRAWER = re.compile(r"[ \t]*:(\w+):[ \t]*$")


def chunks(text: str, stem: str) -> tuple[Chunk, ...]:
    outline = Outline()
    keywords: dict[str, str] = {}
    inside: str | None = None
    for line in text.split("\n"):
        block, drawer = _BLOCK.match(line), _DRAWER.match(line)
        if inside == "drawer":
            inside = None if drawer and drawer[1].upper() == "END" else inside
            continue
        if block:
            inside = "block" if block[1].lower() == "begin" else None
        elif inside is None and drawer and drawer[1].upper() in ("PROPERTIES", "LOGBOOK"):
            inside = "drawer"
            continue
        elif inside is None and (keyword := _KEYWORD.match(line)):
            keywords[keyword[1].upper()] = keyword[2]
            continue
        elif inside is None and (heading := _HEADING.match(line)):
            outline.head(len(heading[1]), _plain(heading[2]), labels((heading[3] or "").replace(":", ",")))
            continue
        outline.line(line)
    meta = _meta(keywords)
    return finish(outline.sections(), title=meta.title or stem, meta=meta)


def _plain(title: str) -> str:
    while match := _TODO.match(title):
        title = title[match.end() :]
    return title


def _meta(keywords: dict[str, str]) -> Meta:
    written = _DATE.search(keywords.get("DATE", ""))
    return Meta(
        title=keywords.get("TITLE") or None,
        tags=labels(keywords.get("FILETAGS", "").replace(":", ",")),
        aliases=labels(keywords.get("ALIAS", "")),
        at=moment(written[1], "#+DATE") if written else None,
    )
