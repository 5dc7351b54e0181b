"""The history database of mem0 (`~/.mem0/history.db`, SQLite), replayed in the order in which it was written.

Table `history`: one row per event of a memory (ADD, UPDATE, DELETE) with `memory_id`, `new_memory` and times; who said
it (`actor_id`, `role`) in newer ones. The first versions called the columns `new_value` and `timestamp`. Rows of mem0
may lack times, so the order is that of writing (rowid). The file is never written to: it is opened as immutable, or,
while a program has a journal of unfinished writes beside it, as a copy.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from recollect.events.errors import InvalidInput
from recollect.interfaces.files.foreign_times import moment
from recollect.interfaces.files.input_streams import reading
from recollect.interfaces.files.records import ByteProgress, Choices, Item, Problem, Record, Skipped, Step

MAGIC = b"SQLite format 3\x00"
VALUE_BYTES_MAX = 1 << 26
_STEPS: dict[str, Step] = {"ADD": "add", "UPDATE": "update", "DELETE": "delete"}
_COLUMNS: dict[str, tuple[str, ...]] = {
    "memory_id": ("memory_id",),
    "text": ("new_memory", "new_value"),
    "event": ("event",),
    "created": ("created_at", "timestamp"),
    "updated": ("updated_at",),
    "actor": ("actor_id",),
    "role": ("role",),
}


def read(path: Path, choices: Choices, progress: ByteProgress) -> Iterator[Item]:
    with reading(path, follow=choices.follow):
        pass  # SQLite would follow a link
    with opened(path) as database:
        query = _query(path, database)
        total = database.execute("SELECT count(*) FROM history").fetchone()[0]
        seen: Counter[str] = Counter()
        alive: set[str] = set()
        for done, row in enumerate(database.execute(query), 1):
            item = _item(dict(row), seen, alive)
            if isinstance(item, Record):
                seen[item.external] += 1
                (alive.discard if item.step == "delete" else alive.add)(item.external)
            progress(done, total)
            yield item


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, opened for reading; raise InvalidInput with one sentence if it cannot be."""
    with tempfile.TemporaryDirectory(prefix="recollect-mem0-") as folder:
        journals = [path.with_name(path.name + end) for end in ("-wal", "-journal")]
        here = path
        if any(journal.is_file() and journal.stat().st_size for journal in journals):
            here = Path(folder) / path.name
            for file in (path, *(journal for journal in journals if journal.is_file())):
                shutil.copyfile(file, Path(folder) / file.name)
        immutable = "" if here != path else "&immutable=1"
        mode = "rwc" if here != path else "ro"  # a copy may recover its journal
        try:
            with closing(
                sqlite3.connect(f"{here.resolve().as_uri()}?mode={mode}{immutable}", uri=True)
            ) as database:
                database.row_factory = sqlite3.Row
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)
                database.execute("PRAGMA trusted_schema = OFF")
                database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
                yield database
        except sqlite3.DatabaseError as error:
            raise InvalidInput(f"{path} cannot be read as mem0's history database: {error}") from None


def columns_of(database: sqlite3.Connection) -> set[str]:
    return {row["name"] for row in database.execute("PRAGMA table_info(history)")}


def _query(path: Path, database: sqlite3.Connection) -> str:
    """The known columns under one name each, whichever version wrote the table."""
    made = database.execute("SELECT type, sql FROM sqlite_master WHERE name = 'history'").fetchone()
    if (
        made is None
        or made["type"] != "table"
        or not re.match(r"CREATE\s+TABLE", str(made["sql"]), re.IGNORECASE)
    ):
        raise InvalidInput(f"{path} has no plain table history; it is not that of mem0")
    present = columns_of(database)
    chosen = {name: next((c for c in known if c in present), None) for name, known in _COLUMNS.items()}
    missing = [_COLUMNS[name][0] for name in ("memory_id", "text", "event") if chosen[name] is None]
    if missing:
        raise InvalidInput(f"{path}: its table history has no column {missing[0]!r}; it is not that of mem0")
    listed = ", ".join(f'{"NULL" if c is None else f"history.{c}"} AS "{n}"' for n, c in chosen.items())
    return f"SELECT rowid AS number, {listed} FROM history ORDER BY rowid"  # noqa: S608 (names from the table above)


def _item(row: Mapping[str, object], seen: Counter[str], alive: set[str]) -> Item:
    """One row; `seen` counts the earlier ones of each memory, `alive` holds those that are not deleted."""
    where = f"history row {row['number']}"
    event = str(row["event"] or "").upper()
    if event == "NONE":
        return Skipped(reason="event without effect (NONE)")
    step, memory, text = _STEPS.get(event), row["memory_id"], row["text"]
    if step is None or not isinstance(memory, str) or not memory:
        return Problem(
            where=where, reason=f"event {row['event']!r} of memory {memory!r} is not one of mem0's"
        )
    if step != "delete":
        step = "update" if memory in alive else "add"  # a history that was cut begins with an update
    elif memory not in alive:
        return Skipped(reason="delete of a memory that is not there")
    if step != "delete" and not (isinstance(text, str) and text.strip()):
        return Problem(where=where, reason=f"{event} of {memory} without a text")
    try:
        at = moment(row["created"] or row["updated"] if step == "add" else row["updated"] or row["created"])
    except ValueError as error:
        return Problem(where=where, reason=str(error))
    return Record(
        external=memory,
        content=text if isinstance(text, str) else "",
        at=at,
        role=_word(row["role"]),
        entities=tuple(filter(None, [_word(row["actor"])])),
        source="mem0",
        step=step,
        nth=seen[memory],
        where=where,
    )


def _word(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
