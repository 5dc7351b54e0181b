"""Markdown by heading: every heading begins a section; fenced code holds none."""

from __future__ import annotations

import re

from recollect.interfaces.folders.chunk import Chunk, Section, finish
from recollect.interfaces.folders.note_fields import take
from recollect.interfaces.folders.outline import Outline

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r"\s*(?:$|[-*+>|]|\d+[.)]\s)")


def chunks(text: str, stem: str) -> tuple[Chunk, ...]:
    meta, rest = take(text)
    sections, first_is_title = outline(rest)
    title = meta.title or (sections[0].path[0] if first_is_title else stem)
    return finish(sections, title=title, meta=meta)


def outline(text: str) -> tuple[list[Section], bool]:
    """The sections, and whether the text begins with its only heading of the first level: its title."""
    outline = Outline()
    fence: str | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence is not None:
            closes = mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = None if closes else fence
        elif mark is not None:
            fence = mark[1]
        elif heading := _ATX.match(line):
            outline.head(len(heading[1]), _title(line[heading.end() :]))
            continue
        elif _underlines(lines, number):
            outline.head(1 if "=" in line else 2, outline.take_back())
            continue
        outline.line(line)
    return outline.sections(), outline.titled


def _title(text: str) -> str:
    """What stands behind the hashes of a heading, without those that close it."""
    text = text.strip(" \t")
    open_ = text.rstrip("#")
    return open_.rstrip(" \t") if open_ != text and open_.endswith((" ", "\t")) else text


def _underlines(lines: list[str], number: int) -> bool:
    """Whether a line of = or - makes a heading of the one line of text above it."""
    if number == 0 or not _UNDERLINE.match(lines[number]) or _NOT_A_PARAGRAPH.match(lines[number - 1]):
        return False
    above_is_one_line = number == 1 or not lines[number - 2].strip()
    return above_is_one_line and not _ATX.match(lines[number - 1])
