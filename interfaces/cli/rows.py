"""A result as rows for other programs: CSV, tab-separated values, or one JSON object a line.

Rows are the members of a list, or of the first field of a result that `ROWS` names. A column is a field; a nested field
has both names (`state_kind`). A list in a cell is JSON. Nothing is cut; in TSV a tab or a line break inside a cell is
written as `\\t` or `\\n`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import msgspec

ROWS = ("hits", "recalls", "rows", "memories", "events", "points", "answers", "expectations")


def as_rows(value: object, form: str) -> str:
    rows = [_flat(row) for row in _rows_of(value)]
    if form == "nl":
        return "".join(msgspec.json.encode(row, enc_hook=str).decode() + "\n" for row in rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, *([_cell(row.get(name)) for name in names] for row in rows)] if names else []
    if form == "tsv":
        return "".join("\t".join(map(_on_one_line, line)) + "\n" for line in lines)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def _on_one_line(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _rows_of(value: object) -> list[object]:
    plain: Any = value.dicts() if hasattr(value, "dicts") else msgspec.to_builtins(value, enc_hook=str)
    if isinstance(plain, Mapping):
        plain = next((plain[name] for name in ROWS if isinstance(plain.get(name), (list, tuple))), [plain])
    return list(plain)


def _flat(row: object, prefix: str = "") -> dict[str, object]:
    """One level of columns; mappings inside become columns of their own."""
    if not isinstance(row, Mapping):
        return {prefix or "value": row}
    flat: dict[str, object] = {}
    for name, value in row.items():
        inner = isinstance(value, Mapping) and value
        flat.update(_flat(value, f"{prefix}{name}_") if inner else {f"{prefix}{name}": value})
    return flat


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, list, tuple, dict)):
        return msgspec.json.encode(value, enc_hook=str).decode()
    return str(value)
