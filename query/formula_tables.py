"""Tables of a formula file: written once under a name, put into the stages that look them up.

TOML keeps an inline table on one line, so a long one is written as `[tables.<name>]` below the stages and a stage
says `table = "<name>"`. The formula itself holds the table inside the stage.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recollect.query.bounds import Finite
from recollect.query.nearest import there_are

_Tables = dict[str, dict[str, Finite]]


def with_tables(stages: Sequence[object], tables: object) -> list[object]:
    """The stages with every named table in its place; msgspec.ValidationError if one is missing or unused."""
    named = {
        name: _numbers(name, table) for name, table in msgspec.convert(tables, dict[str, object]).items()
    }
    used: set[str] = set()
    filled = [_filled(stage, number, named, used) for number, stage in enumerate(stages)]
    if unused := sorted(set(named) - used):
        raise msgspec.ValidationError(f"no stage looks up the table {unused[0]!r}")
    return filled


def _numbers(name: str, table: object) -> dict[str, Finite]:
    try:
        return msgspec.convert(table, dict[str, Finite])
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(f"table {name!r}: {error}") from None


def _filled(stage: object, number: int, tables: _Tables, used: set[str]) -> object:
    name = stage.get("table") if isinstance(stage, dict) else None
    if not isinstance(stage, dict) or not isinstance(name, str):
        return stage
    if name not in tables:
        raise msgspec.ValidationError(
            f"looks up the table {name!r}; {there_are(name, tables)} - at `$.stages[{number}]`"
        )
    used.add(name)
    return {**stage, "table": tables[name]}
