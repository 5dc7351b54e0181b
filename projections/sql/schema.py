"""The SQL face's tables: what is stored (schema `raw`) and what people see (views and a macro over it).

Times are TIMESTAMP in UTC. A row of `memory_history` is one state of one memory: it stood from `from_seq` on,
up to but without `to_seq` (NULL: it still stands). A state ends when an event touches the memory itself; a
global downscale changes every strength and ends none, so `strength` in `memory_history` is that of `from_seq`,
and `memories` and `memories_as_of(seq)` count the downscales up to the head and to `seq`.

`visible` says whether `recollect memories` shows it at that moment, `visibility` why not. A text that is erased is
erased at every seq. Expiry is a matter of the clock and ends no state: `memories` asks the clock, `memories_as_of(seq)`
the recorded time of `seq`, and `memory_history` tells only what events did.
"""

from __future__ import annotations

STATE_COLUMNS: dict[str, str] = {
    "kind": "VARCHAR", "importance": "DOUBLE", "priority": "BIGINT", "tags": "VARCHAR[]", "entities": "VARCHAR[]",
    "project": "VARCHAR", "session": "VARCHAR", "source": "VARCHAR", "importance_tag": "VARCHAR", "key": "VARCHAR",
    "trust": "DOUBLE", "embedder": "VARCHAR", "created_at": "TIMESTAMP", "updated_at": "TIMESTAMP",
    "valid_from": "TIMESTAMP", "valid_to": "TIMESTAMP", "expires_at": "TIMESTAMP", "revision_count": "INTEGER",
    "access_count": "INTEGER", "used_count": "INTEGER", "injected_count": "INTEGER", "session_spread": "INTEGER",
    "last_access_at": "TIMESTAMP", "last_recall": "BIGINT", "feedback": "INTEGER", "helpful_count": "INTEGER",
    "unhelpful_count": "INTEGER", "outdated_count": "INTEGER", "stability": "DOUBLE", "depth_score": "INTEGER",
    "consolidation_status": "VARCHAR", "layer": "VARCHAR", "visibility": "VARCHAR", "hidden_reason": "VARCHAR",
    "superseded_by": "VARCHAR",
}  # fmt: skip

TABLES: dict[str, dict[str, str]] = {
    "events": {
        "seq": "BIGINT", "recorded_at": "TIMESTAMP", "type": "VARCHAR", "version": "INTEGER", "actor": "VARCHAR",
        "event_id": "VARCHAR", "memories": "VARCHAR[]", "session": "VARCHAR", "fact": "JSON",
    },
    "texts": {"seq": "BIGINT", "content": "VARCHAR"},
    "states": {
        "memory": "INTEGER", "id": "VARCHAR", "from_seq": "BIGINT", "to_seq": "BIGINT", "text_seq": "BIGINT",
        "strength": "DOUBLE", **STATE_COLUMNS,
    },
    "recalls": {
        "seq": "BIGINT", "recorded_at": "TIMESTAMP", "query": "VARCHAR", "now": "TIMESTAMP", "k": "INTEGER",
        "session": "VARCHAR", "embedder": "VARCHAR", "basis": "BIGINT", "formula": "VARCHAR", "hits": "INTEGER",
        "degraded": "VARCHAR[]",
    },
    "rankings": {"seq": "BIGINT", "rank": "INTEGER", "memory_id": "VARCHAR", "score": "DOUBLE"},
    "edges": {
        "a": "VARCHAR", "b": "VARCHAR", "kind": "VARCHAR", "weight": "DOUBLE", "from_seq": "BIGINT", "to_seq": "BIGINT",
    },
    "formulas": {"digest": "VARCHAR", "name": "VARCHAR"},
    "dreams_begun": {
        "seq": "BIGINT", "dream": "VARCHAR", "basis": "BIGINT", "now": "TIMESTAMP", "settings": "VARCHAR",
        "undoes": "VARCHAR",
    },
    "dreams_ended": {"seq": "BIGINT", "dream": "VARCHAR", "counts": "JSON", "metrics": "JSON"},
}  # fmt: skip

SET_CLOCK = "SET VARIABLE clock = make_timestamp($now::BIGINT)"

_STATES = "raw.states s LEFT JOIN raw.texts t ON t.seq = s.text_seq"
_HEAD = "(SELECT coalesce(max(seq), 0) FROM raw.events)"
_POSITION = f"""CASE WHEN position BETWEEN 0 AND {_HEAD} THEN position
        ELSE error('@' || position || ' is not in this log, which ends at @' || {_HEAD}) END"""


def _columns(*, strength: str, now: str | None) -> str:
    """The columns that show a state at a moment; without one, what has expired since is not said."""
    expired = (
        "" if now is None else f"WHEN s.visibility = 'visible' AND s.expires_at <= {now} THEN 'expired' "
    )
    visibility = f"CASE WHEN t.seq IS NULL THEN 'erased' {expired}ELSE s.visibility END"
    rest = (f"{visibility} AS visibility" if name == "visibility" else f"s.{name}" for name in STATE_COLUMNS)
    return f"t.content, {visibility} = 'visible' AS visible, {strength} AS strength, {', '.join(rest)}"


_AS_IT_WAS = _columns(strength="s.strength", now=None)
_AS_OF = _columns(
    strength="strength_of(s.memory, position::BIGINT)",
    now="(SELECT recorded_at FROM raw.events WHERE seq = position)",
)
_NOW = _columns(strength="strength_of(s.memory, 9223372036854775807)", now="getvariable('clock')")

VIEWS = (
    "CREATE VIEW events AS FROM raw.events",
    f"CREATE VIEW memory_history AS SELECT s.id, s.from_seq, s.to_seq, {_AS_IT_WAS} FROM {_STATES}",  # noqa: S608 (our own names)
    f"""CREATE MACRO memories_as_of(position) AS TABLE
        SELECT s.id, {_AS_OF} FROM {_STATES}
        WHERE s.from_seq <= {_POSITION} AND (s.to_seq IS NULL OR s.to_seq > position)""",  # noqa: S608
    f"CREATE VIEW memories AS SELECT s.id, {_NOW} FROM {_STATES} WHERE s.to_seq IS NULL",  # noqa: S608
    """CREATE VIEW recalls AS
        SELECT 'r' || r.seq AS id, r.seq, r.recorded_at, r.query, r.now, r.k, r.session, r.embedder, r.basis,
               r.formula, f.name AS formula_name, r.hits, r.degraded
        FROM raw.recalls r LEFT JOIN raw.formulas f ON f.digest = r.formula""",
    "CREATE VIEW rankings AS SELECT 'r' || seq AS recall, rank, memory_id, score FROM raw.rankings",
    "CREATE VIEW edges AS FROM raw.edges",
    """CREATE VIEW dreams AS
        SELECT b.dream, b.seq AS began_seq, e.seq AS ended_seq, u.seq AS undone_seq, b.undoes, b.basis, b.now,
               b.settings, e.counts, e.metrics
        FROM raw.dreams_begun b LEFT JOIN raw.dreams_ended e ON e.dream = b.dream
        LEFT JOIN raw.dreams_begun w ON w.undoes = b.dream LEFT JOIN raw.dreams_ended u ON u.dream = w.dream""",
)

SHOWN_TABLES = ("events", "memories", "memory_history", "recalls", "rankings", "edges", "dreams")


def statements() -> list[str]:
    """Everything that an empty database needs, in order; the function `strength_of` must exist before."""
    tables = [
        f"CREATE TABLE raw.{name} ({', '.join(f'{column} {kind}' for column, kind in columns.items())})"
        for name, columns in TABLES.items()
    ]
    return ["CREATE SCHEMA raw", *tables, *VIEWS]


def insertion(table: str) -> str:
    """The statement that adds the registered `batch` to a table: times come in µs, lists and objects as JSON."""
    readers = {
        "TIMESTAMP": "make_timestamp({}::BIGINT)",
        "VARCHAR[]": "{}::JSON::VARCHAR[]",
        "JSON": "{}::JSON",
    }
    columns = [readers.get(kind, "{}").format(f'"{name}"') for name, kind in TABLES[table].items()]
    return f"INSERT INTO raw.{table} SELECT {', '.join(columns)} FROM batch"  # noqa: S608
