"""Our own Markdown back in: the pages that `recollect export --format markdown` writes, ids kept.

A folder or a single page, oldest memory first, so that the turns of a session stand in their order again. A page that
was edited is a revision; a file without our front matter is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.interfaces.common import front_matter
from recollect.interfaces.files import markdown_pages
from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.input_streams import files_under, page_text, size_of
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Link, Problem, Record, Skipped

PATTERNS = ("*.md",)
_TEXTS = ("importance_tag", "key")
_TIMES = ("valid_from", "valid_to", "expires_at")


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    files, refused = files_under(path, *PATTERNS, chosen=choices.files)
    yield from refused
    files.sort(key=lambda file: _when(file, path))
    total, done = sum(map(size_of, files)), 0
    for file in files:
        name = file.name if file == path else file.relative_to(path).as_posix()
        yield from _page(file, path, name)
        done += size_of(file)
        progress(done, total)


def _when(file: Path, named: Path) -> tuple[int, str]:
    """The time of a page's memory; a page that cannot be read is reported later."""
    try:
        found = markdown_pages.read(page_text(file, follow=file == named))
        return (found and moment(found[0].get("at"))) or 0, file.as_posix()
    except (ValueError, InvalidInput):
        return 0, file.as_posix()


def _page(file: Path, named: Path, where: str) -> Iterator[Item]:
    try:
        text = page_text(file, follow=file == named)
    except InvalidInput as error:
        yield Problem(where=where, reason=str(error))
        return
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
    further |= {name: str(fields[name]) for name in _TEXTS if name in fields}
    if "importance" in fields:
        further["importance"] = float(str(fields["importance"]))
    if "priority" in fields:
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
    return tuple(map(str, value)) if isinstance(value, list) else front_matter.texts(value)


def _optional(fields: dict[str, object], name: str) -> str | None:
    return None if fields.get(name) is None else str(fields[name])
