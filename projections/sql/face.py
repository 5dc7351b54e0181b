"""The SQL face: DuckDB in memory over the log and its projections, for reading (tables: `schema`).

It is derived and brought up to date on demand: an update reads the events since the last one and touches only
rows of memories that they touched. What an `Erased` event names is removed here too. Only this class writes:
a query is one SELECT (or WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN) in a read-only transaction of a
database that can reach neither files nor network nor Python objects, and whose settings are locked.
A query that does not fit into memory fails instead of spilling to a file, where an erasure would miss it; time and the
size of an answer are limited as well (`limits`). Parameters are bound, never pasted. One thread at a time.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import duckdb
import msgspec
import numpy as np

from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.log import Clock, Log
from recollect.events.private_files import make_private, open_private
from recollect.projections.sql.limits import SECONDS, VARIABLE, allowed_bytes, fetch, within
from recollect.projections.sql.reading import check_reading, first_line
from recollect.projections.sql.rows import Columns, EventRows
from recollect.projections.sql.schema import SET_CLOCK, SHOWN_TABLES, TABLES, insertion, statements
from recollect.projections.sql.states import Strengths, edge_rows, state_rows
from recollect.projections.view import Projections

_EVENTS_AT_ONCE = 20_000
_SETTINGS = (
    "SET GLOBAL pandas_analyze_sample = 0",  # object columns are text, whatever stands in them
    "SET temp_directory = ''",
)
_LOCKS = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

Value = str | int | float | bool | None
Progress = Callable[[int, int], None]


class SqlTable(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a query: distinct column names, their types, and rows. Reads like a list of its rows."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[object, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> tuple[object, ...]:
        return self.rows[index]

    def dicts(self) -> list[dict[str, object]]:
        """Every row as a mapping from column to value."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class SqlFace:
    """The tables of one store's projections; `clock` says which memories have expired when they are read."""

    def __init__(
        self, log: Log, projections: Projections, *, clock: Clock, locked: bool = True, memory_bytes: int | None = None
    ) -> None:  # fmt: skip
        self.position = 0
        self.abandoned = False
        self._log = log
        self._projections = projections
        self._clock = clock
        self._strengths = Strengths(projections)
        self._database = duckdb.connect(":memory:")
        self.close = weakref.finalize(self, self._database.close)  # where `close` was not called, and at exit
        self._database.create_function("strength_of", self._strengths.of, ["INTEGER", "BIGINT"], "DOUBLE")
        memory = f"SET memory_limit = '{memory_bytes or allowed_bytes()}B'"
        for statement in (*_SETTINGS, memory, *statements(), *(_LOCKS if locked else ())):
            self._database.execute(statement)

    # --- asking ----------------------------------------------------------------------------------

    def query(
        self, query: str, parameters: Mapping[str, Value] | None = None, *, seconds: float = SECONDS
    ) -> SqlTable:
        """One reading statement, as of the projections' position; `$name` stands for a parameter."""
        self.update()
        self._set_clock()
        try:
            return within(
                seconds, self._database, lambda: self._read(query, dict(parameters or {})), self._abandon
            )
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise InvalidInput(
                f"the query needs more memory than it may use ({first_line(error)}); ask for less, or set {VARIABLE}"
            ) from None
        except duckdb.Error as error:
            raise InvalidInput(f"the query failed: {first_line(error)}") from None

    def _abandon(self) -> None:
        self.abandoned = True
        self.close.detach()  # closing would wait for the thread that is still at work

    def _read(self, query: str, parameters: dict[str, Value]) -> SqlTable:
        check_reading(query)
        self._database.execute("BEGIN TRANSACTION READ ONLY")
        try:
            result = self._database.execute(query, parameters)
            described = result.description or []
            return SqlTable(
                columns=_distinct_names(str(column[0]) for column in described),
                types=tuple(str(column[1]) for column in described),
                rows=fetch(result),
            )
        finally:
            self._database.execute("ROLLBACK")

    def copy_out(self, table: str, path: Path) -> Path:
        """One table as a Parquet file, synced; only a database that was not locked may."""
        target = str(path).replace("'", "''")
        self._set_clock()
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT)
        try:
            self._database.execute(f"COPY (FROM {table}) TO '{target}' (FORMAT parquet, USE_TMP_FILE false)")
            os.fsync(descriptor)
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise RecollectError(
                f"{path} needs more memory than SQL may use ({first_line(error)}); set {VARIABLE}"
            ) from None
        except duckdb.Error as error:
            raise RecollectError(f"{path} could not be written: {first_line(error)}") from None
        finally:
            os.close(descriptor)
        return path

    def serves(self, projections: Projections) -> bool:
        """Whether the database is usable and was made from these projections (an erasure makes new ones)."""
        return self._projections is projections and not self.abandoned

    # --- keeping up ------------------------------------------------------------------------------

    def update(self) -> None:
        """Take in what the projections have folded since the last update."""
        after, upto = self.position, self._projections.position
        if after == upto:
            return
        self._database.execute("BEGIN")
        try:
            self._take_events(after, upto)
            self._take_states(after, upto)
            self._database.execute("COMMIT")
        except duckdb.OutOfMemoryException as error:
            self._database.execute("ROLLBACK")
            raise InvalidInput(
                f"the tables do not fit into the memory that SQL may use ({first_line(error)}); set {VARIABLE}"
            ) from None
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._strengths.forget()
        self.position = upto

    def _take_events(self, after: int, upto: int) -> None:
        events = self._log.read(after, upto)
        erased: list[int] = []
        links_changed = False
        while some := list(islice(events, _EVENTS_AT_ONCE)):
            rows = EventRows()
            rows.take(some)
            for table, columns in rows.tables().items():
                self._insert(table, columns)
            erased += rows.erased
            links_changed = links_changed or rows.links_changed
        self._purge(erased)
        if links_changed:
            self._database.execute("DELETE FROM raw.edges")
            self._insert("edges", edge_rows(self._projections))

    def _take_states(self, after: int, upto: int) -> None:
        """Add new states, and end the states before them."""
        memories, seqs = self._projections.lifecycle.changes(after, upto)
        if not len(memories):
            return
        rows = state_rows(self._projections, memories, seqs)
        if after:
            first = np.ones(len(memories), dtype=np.bool_)
            first[1:] = memories[1:] != memories[:-1]
            self._run(
                "UPDATE raw.states SET to_seq = b.seq FROM batch b WHERE states.memory = b.memory AND to_seq IS NULL",
                {"memory": memories[first], "seq": seqs[first]},
            )
        self._insert("states", rows)

    def _purge(self, erased: Sequence[int]) -> None:
        """Delete what was written of events whose payloads are gone."""
        if not erased:
            return
        gone: Columns = {"seq": np.array(erased, dtype=np.int64)}
        self._run(
            "UPDATE raw.events SET fact = NULL, memories = [], session = NULL WHERE seq IN (SELECT seq FROM batch)",
            gone,
        )
        for table in ("texts", "recalls", "rankings"):
            self._run(f"DELETE FROM raw.{table} WHERE seq IN (SELECT seq FROM batch)", gone)  # noqa: S608

    def _insert(self, table: str, columns: Columns) -> None:
        assert list(columns) == list(TABLES[table])
        self._run(insertion(table), columns)

    def _run(self, statement: str, batch: Columns) -> None:
        self._database.register("batch", batch)
        try:
            self._database.execute(statement)
        finally:
            self._database.unregister("batch")

    def _set_clock(self) -> None:
        self._database.execute(SET_CLOCK, {"now": self._clock()})


def export_parquet(
    log: Log, projections: Projections, folder: Path, *, clock: Clock, memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> list[Path]:  # fmt: skip
    """Every table that people see as a Parquet file of its own, synced, through a database that may write."""
    targets = {table: folder / f"{table}.parquet" for table in SHOWN_TABLES}
    make_private(folder)
    face = SqlFace(log, projections, clock=clock, locked=False, memory_bytes=memory_bytes)
    try:
        face.update()
        for done, (table, target) in enumerate(targets.items(), 1):
            face.copy_out(table, target)
            if progress:
                progress(done, len(targets))
        return list(targets.values())
    finally:
        face.close()


def _distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names as DuckDB tells them apart in a subquery: `id`, `id_1`, `id_2`; upper and lower case are the same."""
    taken: dict[str, str] = {}
    for name in names:
        count, apart = 0, name
        while apart.lower() in taken:
            count += 1
            apart = f"{name}_{count}"
        taken[apart.lower()] = apart
    return tuple(taken.values())
