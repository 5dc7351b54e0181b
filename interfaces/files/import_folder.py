"""A folder with files of several programs: read each in its own format, and report what was passed over.

Conversations, tables and databases are read file by file in order of their paths; the notes and sessions of a program
that keeps many files belong together, since they link to and repeat each other. One file that cannot be read does not
keep the others from being read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from recollect.events.errors import InvalidInput
from recollect.interfaces.files.format_detection import READERS, TABLES, Contents, contents
from recollect.interfaces.files.import_plan import ACTOR
from recollect.interfaces.files.import_writer import Importer
from recollect.interfaces.files.input_streams import size_of
from recollect.interfaces.files.records import (
    ByteProgress,
    Choices,
    Item,
    Link,
    Notice,
    Problem,
    Skipped,
)
from recollect.interfaces.files.report import PartRead, readable

_TOGETHER = ("claude-code", "basic-memory", "recollect-markdown")
_NOT_A_WORD = re.compile(r"[^A-Za-z0-9._-]+")


class _Part(msgspec.Struct, frozen=True):
    """What one reader reads: `path` is a file, or the folder whose `files` belong together."""

    path: Path
    name: str
    format: str
    namespace: str
    files: tuple[Path, ...]


def table_namespace(path: Path, root: Path) -> str:
    """The prefix of a table's ids, which are unique in the table only: its path without the ending."""
    name = path.relative_to(root).with_suffix("").as_posix()
    return _NOT_A_WORD.sub("-", name).strip("-") or "table"


def import_folder(
    importer: Importer, folder: Path, choices: Choices, progress: ByteProgress
) -> list[Skipped]:
    """Read every part; return what was passed over."""
    found = contents(folder)
    passed_over = list(found.passed_over)
    parts = _parts(folder, found, passed_over)
    _refuse_what_no_part_takes(choices, found)
    total, before = sum(map(size_of, found.files)), 0
    for part in parts:
        size, begun = sum(map(size_of, part.files)), importer.report.read

        def show(done: int, of: int, *, size: int = size, before: int = before) -> None:
            progress(before + size * done // max(of, 1), total)

        importer.run(_items(part, choices, show), actor=f"{ACTOR}{part.format}", namespace=part.namespace)
        read = importer.report.read - begun
        importer.report.parts += (
            PartRead(path=readable(part.name), format=part.format, files=len(part.files), read=read),
        )
        before += size
    return sorted(passed_over, key=lambda skipped: skipped.where)


def _refuse_what_no_part_takes(choices: Choices, found: Contents) -> None:
    formats = set(found.files.values())
    if choices.mapping and not formats & set(TABLES):
        raise InvalidInput(f"a mapping is for {' and '.join(TABLES)}; this folder holds neither")
    if choices.include and "claude-code" not in formats:
        raise InvalidInput("include is for claude-code; this folder holds none")


def _parts(folder: Path, found: Contents, passed_over: list[Skipped]) -> list[_Part]:
    """The parts in order; pass over a table whose ids would collide with another's."""
    parts: list[_Part] = []
    tables: dict[str, str] = {}
    for file, format_ in found.files.items():
        name, namespace = file.relative_to(folder).as_posix(), format_
        if format_ in _TOGETHER:
            continue
        if format_ in TABLES:
            namespace = table_namespace(file, folder)
            if (other := tables.setdefault(namespace, name)) != name:
                reason = f"table whose ids would be those of {other}; import it by itself with --namespace"
                passed_over.append(Skipped(reason=reason, where=name))
                continue
        parts.append(_Part(file, name, format_, namespace, (file,)))
    together = {one: tuple(file for file, of in found.files.items() if of == one) for one in _TOGETHER}
    return parts + [_Part(folder, ".", one, one, files) for one, files in together.items() if files]


def _items(part: _Part, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    """The reader's items with the file's name; an error that ends the reader becomes a problem of this part."""
    alone = part.name != "."
    own = msgspec.structs.replace(choices, files=None if alone else part.files, follow=False)
    try:
        for item in READERS[part.format](part.path, own, progress):
            yield _named(item, part) if alone else item
    except InvalidInput as error:
        yield Problem(where=part.name, reason=str(error))
    except RecursionError:
        yield Problem(where=part.name, reason="nested too deeply to be read")


def _named(item: Item, part: _Part) -> Item:
    """The item with the file that it stands in."""
    if isinstance(item, Notice):
        return Notice(note=f"{part.name}: {item.note}")
    if isinstance(item, Link) or not item.where:
        return item
    where = item.where.removeprefix(f"{part.path.name}, ")
    return msgspec.structs.replace(item, where=f"{part.name}, {where}")
