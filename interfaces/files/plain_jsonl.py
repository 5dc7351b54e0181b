"""Plain JSON lines: one object per line is one memory; `rows` says which of its fields means what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from recollect.interfaces.files.input_streams import lines, no_progress
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem
from recollect.interfaces.files.rows import complete, record_of

_SAMPLE_LINES = 200


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    mapping, notes = complete(choices.mapping, _columns(path, choices))
    yield from notes
    for number, line in lines(path, progress, follow=choices.follow):
        row = _object(line)
        where = f"line {number}"
        if isinstance(row, str):
            yield Problem(where=where, reason=row)
        else:
            yield record_of(row, mapping, where=where)


def _columns(path: Path, choices: Choices) -> list[str]:
    """The names in the first lines, in order of appearance."""
    names: dict[str, None] = {}
    for _, line in islice(lines(path, no_progress, follow=choices.follow), _SAMPLE_LINES):
        row = _object(line)
        if not isinstance(row, str):
            names.update(dict.fromkeys(row))
    return list(names)


def _object(line: bytes) -> dict[str, object] | str:
    """The object on a line, or what is wrong with it."""
    try:
        return msgspec.json.decode(line, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"not a JSON object: {error}"
