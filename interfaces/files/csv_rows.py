"""CSV and TSV with a header line: one row is one memory; `rows` says which column means what."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.interfaces.files.input_streams import counted, reading, size_of
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem
from recollect.interfaces.files.rows import complete, record_of

FIELD_CHARACTERS_MAX = 1 << 24
LINE_CHARACTERS_MAX = 1 << 25
_DELIMITERS = ",;\t|"
_HOW_TO_CONVERT = "if the file is Latin-1, `iconv -f LATIN1 -t UTF-8 FILE > NEW` converts it"


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    csv.field_size_limit(FIELD_CHARACTERS_MAX)
    with reading(path, follow=choices.follow) as file:
        stream = counted(file, size_of(path), progress)
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        table = csv.reader(_lines(text, path), delimiter=delimiter_of(path), strict=True)
        header = _next(table)
        if not isinstance(header, list):
            raise InvalidInput(f"{path} has no header line: {header or 'it is empty'}")
        _check_header(path, header, choices.mapping)
        mapping, notes = complete(choices.mapping, header)
        yield from notes
        begins = table.line_num + 1
        while (row := _next(table)) is not None:
            where, begins = f"line {begins}", table.line_num + 1
            if isinstance(row, str):
                yield Problem(where=where, reason=row)
            elif len(row) != len(header) and row:
                yield Problem(where=where, reason=f"{len(row)} cells where the header has {len(header)}")
            elif (odd := _not_utf8(row)) is not None:
                yield Problem(where=where, reason=f"{odd}; {_HOW_TO_CONVERT}")
            elif row:
                yield record_of(dict(zip(header, row, strict=True)), mapping, where=where)


def _lines(text: io.TextIOWrapper, path: Path) -> Iterator[str]:
    """Line by line; a line longer than any row may be ends the import instead of filling the memory."""
    while line := text.readline(LINE_CHARACTERS_MAX):
        if len(line) == LINE_CHARACTERS_MAX and not line.endswith(("\n", "\r")):
            raise InvalidInput(f"{path} has a line of more than {LINE_CHARACTERS_MAX:,} characters")
        yield line


def _check_header(path: Path, header: list[str], mapping: Mapping[str, str]) -> None:
    """Refuse a header that cannot be read, and a mapping to a column that is not in it."""
    if (odd := _not_utf8(header)) is not None:
        raise InvalidInput(f"the header line of {path} is {odd}; {_HOW_TO_CONVERT}")
    for field, column in mapping.items():
        if column not in header:
            raise InvalidInput(
                f"{path} has no column {column!r} to take as {field}; it has {', '.join(map(repr, header))}"
            )


def _not_utf8(cells: list[str]) -> str | None:
    """Say which cells hold bytes that are not UTF-8 (lone surrogates)."""
    odd = next((c for cell in cells if not cell.isascii() for c in cell if "\udc80" <= c <= "\udcff"), None)
    return None if odd is None else f"not UTF-8 text (it holds the byte 0x{ord(odd) - 0xDC00:02X})"


def _next(table: Iterator[list[str]]) -> list[str] | str | None:
    """The next row, what is wrong with it, or None at the end."""
    try:
        return next(table, None)
    except csv.Error as error:
        return f"not CSV: {error}"


def delimiter_of(path: Path) -> str:
    """The separator that the header line has most of; a comma if it has none."""
    with reading(path) as file:
        header = file.readline(1 << 16).decode("utf-8", "replace")
    return max(_DELIMITERS, key=header.count)
