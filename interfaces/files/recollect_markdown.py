"""Our own Markdown back in: the pages that `recollect export --format markdown` writes, ids kept.

A folder or a single page, oldest memory first, so that the turns of a session stand in their order again. A page that
was edited is a revision; a file without our front matter is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recollect.interfaces.common import front_matter
from recollect.interfaces.files import markdown_pages
from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.input_streams import files_under, no_progress, pages
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Link, Problem, Record, Skipped

PATTERNS = ("*.md",)
_TEXTS = ("importance_tag", "key")
_TIMES = ("valid_from", "valid_to", "expires_at")


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    files, refused = files_under(path, *PATTERNS, chosen=choices.files)
    yield from refused
    in_order = sorted(
        (_when(text), file.as_posix(), file) for file, _, text in pages(path, files, no_progress)
    )
    for _, name, text in pages(path, [file for *_, file in in_order], progress):
        if isinstance(text, Problem):
            yield text
        else:
            yield from _page(text, name)


def _when(text: str | Problem) -> int:
    """The time of a page's memory; a page that cannot be read is reported later."""
    with suppress(ValueError):
        if not isinstance(text, Problem) and (found := markdown_pages.read(text)) is not None:
            return moment(found[0].get("at")) or 0
    return 0


def _page(text: str, where: str) -> Iterator[Item]:
    found = markdown_pages.read(text)
    if found is None and (broken := front_matter.parse(text).broken):
        yield Problem(where=where, reason=f"its front matter {broken}")
        return
    if found is None:
        yield Skipped(reason="file without an id of ours in its front matter")
        return
    fields, content, links = found
    external = str(fields["id"])
    try:
        yield _record(external, fields, content, where)
    except ValueError as error:
        yield Problem(where=where, reason=str(error))
        return
    for link in links:
        yield Link(a=external, b=link.id, kind=link.kind, weight=link.weight, namespace="")


def _record(external: str, fields: dict[str, object], content: str, where: str) -> Record:
    further: dict[str, object] = {name: moment(fields[name]) for name in _TIMES if name in fields}
    further |= {name: str(fields[name]) for name in _TEXTS if fields.get(name) is not None}
    if fields.get("importance") is not None:
        further["importance"] = float(str(fields["importance"]))
    if fields.get("priority") is not None:
        further["priority"] = int(str(fields["priority"]))
    return Record(
        external=external,
        content=content,
        at=moment(fields.get("at")),
        kind=str(fields.get("kind") or "note"),
        session=_optional(fields, "session"),
        project=_optional(fields, "project"),
        source=_optional(fields, "source"),
        tags=_labels(fields.get("tags")),
        entities=_labels(fields.get("entities")),
        fields=further,
        namespace="",
        where=where,
    )


def _labels(value: object) -> tuple[str, ...]:
    """A list as it is: a tag of ours may hold a comma or a hash."""
    return tuple(map(str, value)) if isinstance(value, list) else front_matter.labels(value or [])


def _optional(fields: dict[str, object], name: str) -> str | None:
    return None if fields.get(name) is None else str(fields[name])
