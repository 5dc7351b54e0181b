"""Plain JSON lines: one object per line is one memory; `rows` says which of its fields means what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from recollect.interfaces.files.input_streams import json_lines, no_progress
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem
from recollect.interfaces.files.rows import complete, record_of

_SAMPLE_LINES = 200


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    sample = islice(json_lines(path, no_progress, follow=choices.follow), _SAMPLE_LINES)
    columns = dict.fromkeys(name for _, row in sample if not isinstance(row, str) for name in row)
    mapping, notes = complete(choices.mapping, columns)
    yield from notes
    for number, row in json_lines(path, progress, follow=choices.follow):
        where = f"line {number}"
        if isinstance(row, str):
            yield Problem(where=where, reason=row)
        else:
            yield record_of(row, mapping, where=where)
