"""CSV and TSV with a header line: one row is one memory; `rows` says which column means what."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.files.records import ByteProgress, Choices, Item, Problem
from recollect.files.rows import complete, record_of
from recollect.files.sources import counted

FIELD_CHARACTERS_MAX = 1 << 24
_DELIMITERS = ",;\t|"


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    csv.field_size_limit(FIELD_CHARACTERS_MAX)
    with path.open("rb") as file:
        stream = counted(file, path.stat().st_size, progress)
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        table = csv.reader(text, delimiter=delimiter_of(path), strict=True)
        header = _next(table)
        if not isinstance(header, list):
            raise InvalidInput(f"{path} has no header line: {header or 'it is empty'}")
        mapping, notes = complete(choices.mapping, header)
        yield from notes
        begins = table.line_num + 1
        while (row := _next(table)) is not None:
            where, begins = f"line {begins}", table.line_num + 1
            if isinstance(row, str):
                yield Problem(where=where, reason=row)
            elif len(row) != len(header) and row:
                yield Problem(where=where, reason=f"{len(row)} cells where the header has {len(header)}")
            elif row:
                yield record_of(dict(zip(header, row, strict=True)), mapping, where=where)


def _next(table: Iterator[list[str]]) -> list[str] | str | None:
    """The next row, what is wrong with it, or None at the end."""
    try:
        return next(table, None)
    except csv.Error as error:
        return f"not CSV: {error}"


def delimiter_of(path: Path) -> str:
    """The separator that the header line has most of; a comma if it has none."""
    with path.open("rb") as file:
        header = file.readline(1 << 16).decode("utf-8", "replace")
    return max(_DELIMITERS, key=header.count)
