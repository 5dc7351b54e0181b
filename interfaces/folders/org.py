"""Org files by heading, with #+TITLE, #+DATE, #+FILETAGS, #+ALIAS and the tags of headings."""

from __future__ import annotations

import re

from recollect.interfaces.common.front_matter import labels
from recollect.interfaces.folders.chunk import Chunk, Meta, finish
from recollect.interfaces.folders.note_fields import moment
from recollect.interfaces.folders.outline import Outline

_HEADING = re.compile(r"(\*+)[ \t]+")
_TAGS = re.compile(r":[\w@#%:]+:")
_KEYWORD = re.compile(r"#\+(\w+):(.*)$")
_TODO = re.compile(r"(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+|\[#[A-Z]\][ \t]+)*")
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
            keywords[keyword[1].upper()] = keyword[2].strip(" \t")
            continue
        elif inside is None and (heading := _HEADING.match(line)):
            title, tags = _apart(line[heading.end() :].rstrip(" \t"))
            outline.head(len(heading[1]), _plain(title), labels(tags.replace(":", ",")))
            continue
        outline.line(line)
    meta = _meta(keywords)
    return finish(outline.sections(), title=meta.title or stem, meta=meta)


def _apart(heading: str) -> tuple[str, str]:
    """A heading's title and its tags: the last word, if it looks like `:this:` and is not the whole heading."""
    word = heading.replace("\t", " ").rpartition(" ")[2]
    if len(word) < len(heading) and _TAGS.fullmatch(word):
        return heading[: -len(word)].rstrip(" \t"), word
    return heading, ""


def _plain(title: str) -> str:
    states = _TODO.match(title)
    return title[states.end() :] if states else title


def _meta(keywords: dict[str, str]) -> Meta:
    written = _DATE.search(keywords.get("DATE", ""))
    return Meta(
        title=keywords.get("TITLE") or None,
        tags=labels(keywords.get("FILETAGS", "").replace(":", ",")),
        aliases=labels(keywords.get("ALIAS", "")),
        at=moment(written[1], "#+DATE") if written else None,
    )
