"""Notes of basic-memory: a folder of Markdown, or one file.

A note is a memory (front matter `title`, `type`, `permalink`, `tags`, `created`); each of its observations
(`- [category] text #tag (context)`) is a memory of its own with the category as its kind, the note's title as an
entity and an edge `observation_of` to the note; relations (`- relates_to [[Target]]`) are edges of that kind and
other [[wiki links]] edges `links_to`. As in basic-memory a checkbox or a time code is not a category, and a line with
more text around its link is prose. An observation is identified by its note and its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recollect.interfaces.common import front_matter
from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.input_streams import files_under, modified_at, no_progress, pages
from recollect.interfaces.files.records import (
    ByteProgress,
    Choices,
    Item,
    Link,
    Notice,
    Problem,
    Record,
    Skipped,
    digest,
)

PATTERNS = ("*.md", "*.markdown")

_FENCE = re.compile(r"^\s*(```|~~~)")
_LIST_ITEM = re.compile(r"^\s*[-*+]\s++(.*\S)\s*$")
_OBSERVATION = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
_TIME_CODE = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+[\d:.,]+)?")
_RELATION = re.compile(
    r"(?:\"([^\"]+)\"|'([^']+)'|([^\[\]\"']*[^\[\]\"'\s]))\s*+\[\[([^\[\]]+)\]\]\s*(?:\([^()]*\))?"
)
_WIKI_LINK = re.compile(r"\[\[([^\[\]]+)\]\]")
_HASHTAG = re.compile(r"(?:^|\s)#([^\s#]+)")
_HEADING = re.compile(r"^#{1,6}\s++(.*\S)\s*$")


class Parts(NamedTuple):
    """A body taken apart."""

    text: str
    observations: list[tuple[str, str]]
    relations: list[tuple[str, str]]


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    root = path if path.is_dir() else path.parent
    files, refused = files_under(path, *PATTERNS, chosen=choices.files)
    yield from refused
    index: dict[str, str] = {}
    for file, _, text in pages(path, files, no_progress):
        page = front_matter.parse("" if isinstance(text, Problem) else text)
        for name in _names(file, root, page):
            index.setdefault(name, _external(file, root, page))
    for file, _, text in pages(path, files, progress):
        if isinstance(text, Problem):
            yield text
        else:
            yield from _note(file, root, front_matter.parse(text), index)


def _external(file: Path, root: Path, page: front_matter.Page) -> str:
    """The permalink of a note, or its path without the ending."""
    permalink = str(page.fields.get("permalink") or "").strip()
    return permalink or file.relative_to(root).with_suffix("").as_posix()


def _names(file: Path, root: Path, page: front_matter.Page) -> list[str]:
    """What a link may call this note, as `_normal` writes it."""
    path = file.relative_to(root).with_suffix("").as_posix()
    return [
        _normal(str(name))
        for name in (page.fields.get("title"), _external(file, root, page), path, file.stem)
        if name
    ]


def _normal(name: str) -> str:
    return " ".join(
        re.split(r"[#|]", name, maxsplit=1)[0].replace("-", " ").replace("_", " ").casefold().split()
    )


def _note(file: Path, root: Path, page: front_matter.Page, index: dict[str, str]) -> Iterator[Item]:
    """The note, its observations, and its links to notes of the same folder."""
    name = file.relative_to(root).as_posix()
    if page.broken:
        yield Notice(note=f"{name}: its front matter {page.broken} and stays in the text")
    try:
        at = moment(page.fields.get("created") or page.fields.get("date")) or modified_at(file)
    except ValueError as error:
        yield Problem(where=name, reason=f"created: {error}")
        return
    external = _external(file, root, page)
    title = str(page.fields.get("title") or file.stem).strip()
    tags = front_matter.labels(page.fields.get("tags") or [])
    source = f"basic-memory: {name}"
    parts = _take_apart(page.body)
    yield Record(
        external=external, content=_titled(title, parts.text), at=at, tags=tags, source=source,
        kind=str(page.fields.get("type") or "note").strip(), where=name,
    )  # fmt: skip
    for category, text in parts.observations:
        own = f"{external}/observations/{digest(category, text)}"
        yield Record(
            external=own, content=text, at=at, kind=category, source=source, entities=(title,),
            tags=tuple(dict.fromkeys((*tags, *_HASHTAG.findall(text)))), where=name,
        )  # fmt: skip
        yield Link(a=own, b=external, kind="observation_of")
    for kind, target in parts.relations:
        other = index.get(_normal(target))
        if other is None:
            yield Skipped(reason="link to a note that is not here")
        elif other != external:
            yield Link(a=external, b=other, kind=kind)


def _titled(title: str, text: str) -> str:
    """The text under its title, unless it begins with it."""
    first = _HEADING.match(text.split("\n", 1)[0])
    if first and first[1].casefold() == title.casefold():
        return text
    return f"# {title}\n\n{text}" if text else f"# {title}"


def _take_apart(body: str) -> Parts:
    """Observations and relations out of the lines of a body; what is in a block of code is neither."""
    kept: list[str] = []
    parts = Parts("", [], [])
    section, fenced = "", False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        item = None if fenced else _LIST_ITEM.match(line)
        if heading:
            section = heading[1].casefold()
        if item and (observation := _observation(item[1], section)):
            parts.observations.append(observation)
        elif item and (relation := _relation(item[1], section)):
            parts.relations.append(relation)
            continue
        else:
            kept.append(line)
        if not fenced:
            parts.relations.extend(("links_to", target.strip()) for target in _WIKI_LINK.findall(line))
    return parts._replace(text=_without_empty_sections(kept))


def _observation(item: str, section: str) -> tuple[str, str] | None:
    """Category and text of a list item, if it is an observation."""
    if match := _OBSERVATION.fullmatch(item):
        category = match[1].strip()
        marker = len(category) == 1 and (category in "xX" or not category.isalnum())
        if category and not marker and not _TIME_CODE.fullmatch(category) and not match[2].startswith("[["):
            return category, match[2].strip()
    if section == "observations" and _HASHTAG.search(item) and "[[" not in item:
        return "observation", item
    return None


def _relation(item: str, section: str) -> tuple[str, str] | None:
    """Kind and target of a list item, if it is a relation; several words as a kind need quotes or the section."""
    match = _RELATION.fullmatch(item)
    if match is None:
        return None
    kind = (match[1] or match[2] or match[3]).strip()
    bare = match[3] is not None
    if not kind or (bare and " " in kind and section != "relations"):
        return None
    return kind, match[4].strip()


def _without_empty_sections(lines: list[str]) -> str:
    """The lines that are left, without the headings of observations and relations if nothing stands under them."""
    kept: list[str] = []
    emptied = True  # whether nothing, or another heading, stands under this line
    for line in reversed(lines):
        heading = _HEADING.match(line)
        if not (heading and heading[1].casefold() in ("observations", "relations") and emptied):
            kept.append(line)
        if line.strip():
            emptied = heading is not None
    return "\n".join(reversed(kept)).strip()
