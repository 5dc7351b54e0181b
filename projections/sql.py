"""The SQL face: DuckDB in memory over the log and its projections, for reading (tables: `sql_schema`).

It is derived and brought up to date on demand: an update reads the events since the last one and touches only
rows of memories that they touched. What an `Erased` event names is removed here too. Nobody else writes:
a query is one SELECT (or WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN) in a read-only transaction of a
database that can reach neither files nor network nor Python objects, and whose settings are locked.
Parameters are bound, never pasted. One thread at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import duckdb
import msgspec
import numpy as np

from recollect.events.errors import InvalidInput
from recollect.events.log import Log
from recollect.projections.columns import FloatArray
from recollect.projections.sql_rows import Columns, EventRows
from recollect.projections.sql_schema import SHOWN_TABLES, TABLES, insertion, statements
from recollect.projections.sql_states import edge_rows, state_rows
from recollect.projections.view import Projections

_EVENTS_AT_ONCE = 20_000
_EXPLAIN = re.compile(r"\s*explain\s+(analyze\s+)?", re.IGNORECASE)
_STRENGTHS_KEPT = 8
_AS_GIVEN = "SET GLOBAL pandas_analyze_sample = 0"  # object columns are text, whatever stands in them
_LOCKS = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

Value = str | int | float | bool | None


class SqlTable(msgspec.Struct, frozen=True, kw_only=True):
    """What a query gave: column names and types, and rows. Reads like a list of its rows."""

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
    def __init__(self, log: Log, projections: Projections, *, locked: bool = True) -> None:
        self.position = 0
        self._log = log
        self._projections = projections
        self._strengths: dict[int, FloatArray] = {}
        self._database = duckdb.connect(":memory:")
        self._database.create_function("strength_of", self._strength_of, ["INTEGER", "BIGINT"], "DOUBLE")
        for statement in (*statements(), _AS_GIVEN, *(_LOCKS if locked else ())):
            self._database.execute(statement)

    def close(self) -> None:
        self._database.close()

    # --- asking ----------------------------------------------------------------------------------

    def query(self, query: str, parameters: Mapping[str, Value] | None = None) -> SqlTable:
        """One reading statement, as of the projections' position; `$name` stands for a parameter."""
        check_reading(query)
        self.update()
        self._database.execute("BEGIN TRANSACTION READ ONLY")
        try:
            result = self._database.execute(query, dict(parameters or {}))
            described = result.description or []
            return SqlTable(
                columns=tuple(str(column[0]) for column in described),
                types=tuple(str(column[1]) for column in described),
                rows=result.fetchall(),
            )
        except duckdb.Error as error:
            raise InvalidInput(f"the query failed: {_first_line(error)}") from None
        finally:
            self._database.execute("ROLLBACK")

    def copy_out(self, table: str, path: Path) -> Path:
        """One table as a Parquet file; only a database that was not locked may."""
        target = str(path).replace("'", "''")
        self._database.execute(f"COPY (FROM {table}) TO '{target}' (FORMAT parquet)")
        return path

    def serves(self, projections: Projections) -> bool:
        """Whether the tables are those of these projections; an erasure folds new ones."""
        return self._projections is projections

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
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._strengths.clear()
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
        """New states, and the ends of those that they follow."""
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
        """Take out what was written of events whose payloads are gone."""
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

    def _strength_of(self, memory: int, seq: int) -> float:
        """The strength of a memory at a seq, downscales counted; called by the database while it reads."""
        seq = min(seq, self.position)
        strengths = self._strengths.get(seq)
        if strengths is None:
            if len(self._strengths) >= _STRENGTHS_KEPT:
                self._strengths.clear()
            everyone = np.arange(self._projections.documents.memories, dtype=np.int64)
            strengths = self._strengths[seq] = self._projections.lifecycle.at(everyone, seq).strength
        return float(strengths[memory])


def export_parquet(log: Log, projections: Projections, folder: Path) -> list[Path]:
    """Every table that people see as a Parquet file of its own, through a database that may write."""
    folder.mkdir(parents=True, exist_ok=True)
    face = SqlFace(log, projections, locked=False)
    try:
        face.update()
        return [face.copy_out(table, folder / f"{table}.parquet") for table in SHOWN_TABLES]
    finally:
        face.close()


def check_reading(query: str) -> None:
    """Refuse all but one statement that reads."""
    try:
        found = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise InvalidInput(f"the query is not valid SQL: {_first_line(error)}") from None
    if len(found) != 1:
        raise InvalidInput(f"the query holds {len(found)} statements; ask one at a time")
    kind = found[0].type
    if kind == duckdb.StatementType.EXPLAIN:
        check_reading(_EXPLAIN.sub("", found[0].query, count=1))
    elif kind != duckdb.StatementType.SELECT:
        raise InvalidInput(
            f"{kind.name} is refused: SQL here only reads (SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN); "
            f"write through `remember` and its kin, and use `export` for files"
        )


def _first_line(error: duckdb.Error) -> str:
    return str(error).partition("\n")[0]
