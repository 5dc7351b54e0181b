"""SQL over an open store: tables that are made when they are first asked, and made anew with the projections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.engine import validate
from recollect.engine.lazy import LazyModule
from recollect.engine.store import Store
from recollect.engine.torn_state import locked

if TYPE_CHECKING:
    from recollect.projections.sql import face, limits, reading
    from recollect.projections.sql.face import SqlFace, SqlTable, Value
else:  # DuckDB waits until it is needed
    face, limits, reading = (
        LazyModule(f"recollect.projections.sql.{one}") for one in ("face", "limits", "reading")
    )


class SqlTables:
    """The tables of one store, as far as they were asked for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._face: SqlFace | None = None

    def query(self, statement: str, params: dict[str, Value], *, timeout: Value) -> SqlTable:
        """One reading statement, ended after `timeout` seconds unless that is a parameter of its own."""
        validate.text(statement, "statement", characters_max=validate.STATEMENT_CHARACTERS_MAX)
        seconds = limits.SECONDS
        if timeout is not None and reading.names_parameter(statement, "timeout"):
            params["timeout"] = timeout
        elif timeout is not None:
            seconds = validate.number(timeout, "timeout", low=0.001, high=86_400.0)
        return self._queried(statement, params, seconds)

    @locked
    def _queried(self, statement: str, params: dict[str, Value], seconds: float) -> SqlTable:
        self.store.catch_up()
        log, projections = self.store.log, self.store.projections
        if self._face is not None and not self._face.serves(projections):
            self.close()
        if self._face is None:
            allowed = limits.allowed_bytes(log.status().bytes)
            self._face = face.SqlFace(log, projections, clock=self.store.clock, memory_bytes=allowed)
        return self._face.query(statement, params, seconds=seconds)

    def close(self) -> None:
        if self._face is not None:
            self._face.close()
            self._face = None
