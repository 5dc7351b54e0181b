"""SQL over the log: every state that ever was, brought up to date step by step, and nothing but reading."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb
import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DAY, log_of, logs
from travel_world import Hours, tell

from recollect.engine.moments import to_datetime
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import (
    Accessed,
    AnyFact,
    DreamBegan,
    DreamEnded,
    Erased,
    Fact,
    Filters,
    FormulaAdopted,
    Ingested,
    Linked,
    Question,
    Recalled,
    Redacted,
    Revised,
    Unlinked,
)
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.projections.lifecycle.lifecycle import LifecycleState
from recollect.projections.sql.face import SqlFace, export_parquet
from recollect.projections.sql.rows import json, spelled_out
from recollect.projections.sql.schema import SHOWN_TABLES, STATE_COLUMNS
from recollect.projections.view import Projections

EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


class ListLog:
    """As much of a log as the SQL face reads."""

    def __init__(self, events: list[Recorded]) -> None:
        self._events = events

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        return iter(self._events[after:upto])


class Threading(NamedTuple):
    """The module, with another Event, which threads themselves do not wait for."""

    Event: type[threading.Event]
    Thread: type[threading.Thread] = threading.Thread


class World:
    """Projections and their SQL face over a list of events, folded as far as asked."""

    def __init__(self, events: list[Recorded]) -> None:
        self.events = events
        self.now = 0
        self.projections = Projections()
        self.face = SqlFace(ListLog(events), self.projections, clock=lambda: self.now)

    def fold(self, upto: int) -> None:
        for recorded in self.events[self.projections.position : upto]:
            self.projections.apply(recorded)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        self.face.close()


def told(*facts: object) -> World:
    world = World(log_of(*facts))
    world.fold(len(facts))
    return world


def plain(state: LifecycleState) -> dict[str, object]:
    """A state as the database shows it."""
    values = msgspec.structs.asdict(state)
    shown = {name: values[name] for name in (*STATE_COLUMNS, "strength")}
    for name, kind in STATE_COLUMNS.items():
        if kind == "TIMESTAMP" and shown[name] is not None:
            shown[name] = EPOCH + timedelta(microseconds=shown[name])
        elif kind == "VARCHAR[]":
            shown[name] = list(shown[name])
        elif name in ("layer", "hidden_reason"):
            shown[name] = shown[name] or None
    return shown


def shown(world: World, memory: int, seq: int) -> dict[str, object]:
    """A memory as `memories_as_of(seq)` shows it: its state there, but hidden if it is erased by now or expired then."""
    documents = world.projections.documents
    state = plain(world.projections.lifecycle.state(memory, seq))
    named = {gone for event in world.events if isinstance(event.fact, Erased) for gone in event.fact.seqs}
    redacted = {event.seq for event in world.events if isinstance(event.fact, Redacted)}
    expires, now = state["expires_at"], EPOCH + timedelta(microseconds=world.events[seq - 1].at)
    if documents.source(documents.newest_row(memory, seq)) in named | redacted:
        state["visibility"] = "erased"
    elif state["visibility"] == "visible" and expires is not None and expires <= now:
        state["visibility"] = "expired"
    return {**state, "visible": state["visibility"] == "visible"}


@settings(max_examples=25)
@given(events=logs(max_size=25), data=st.data())
def test_memories_as_of_any_seq_equal_the_lifecycle_there(events, data):
    stops = sorted(data.draw(st.sets(st.integers(0, len(events)), max_size=3)) | {len(events)})
    with World(events) as world:
        for stop in stops:
            world.fold(stop)
            world.face.update()
        documents, world.now = world.projections.documents, events[-1].at if events else 0
        for seq in range(len(events) + 1):
            born = {
                id_: shown(world, number, seq)
                for number, id_ in enumerate(documents.ids.values)
                if documents.newest_row(number, seq) >= 0
            }
            table = world.face.query("FROM memories_as_of($seq)", {"seq": seq})
            rows = {row["id"]: row for row in table.dicts()}
            assert {
                id_: {k: row[k] or None if k in ("layer", "hidden_reason") else row[k] for k in born[id_]}
                for id_, row in rows.items()
            } == born
        now = world.face.query("SELECT * EXCLUDE (content) FROM memories ORDER BY id").rows
        assert (
            now
            == world.face.query(
                "SELECT * EXCLUDE (content) FROM memories_as_of($s) ORDER BY id", {"s": len(events)}
            ).rows
        )


@settings(max_examples=25)
@given(events=logs(max_size=25), data=st.data())
def test_step_by_step_and_at_once_give_the_same_tables(events, data):
    stops = sorted(data.draw(st.sets(st.integers(0, len(events)), max_size=4)) | {len(events)})
    with World(events) as stepwise, World(events) as at_once:
        for stop in stops:
            stepwise.fold(stop)
            stepwise.face.update()
        at_once.fold(len(events))
        for table in SHOWN_TABLES:
            query = f"FROM {table} ORDER BY ALL"
            assert stepwise.face.query(query).rows == at_once.face.query(query).rows


def test_states_follow_one_another_without_gaps():
    with told(
        Ingested(id="a", content="one", at=0),
        Revised(id="a", at=DAY, content="two"),
        Ingested(id="b", content="other", at=0),
        Revised(id="a", at=2 * DAY, importance=0.9),
    ) as world:
        rows = world.face.query(
            "SELECT from_seq, to_seq, content, importance FROM memory_history WHERE id = 'a' ORDER BY from_seq"
        ).rows
        assert rows == [(1, 2, "one", 0.5), (2, 4, "two", 0.5), (4, None, "two", 0.9)]


def test_recalls_rankings_edges_and_dreams_are_tables():
    question = Question(text="tea?", now=3 * DAY, k=2, session="s", vector=b"\1\0", embedder="tiny")
    with told(
        Ingested(id="a", content="tea", at=0),
        Ingested(id="b", content="cup", at=0),
        FormulaAdopted(name="f", digest="f0", text="{}"),
        Recalled(question=question, basis=3, formula="f0", ids=("b", "a"), scores=(0.5, 0.25)),
        Linked(a="a", b="b", kind="related", weight=0.5),
        Linked(a="a", b="b", kind="related", weight=0.75),
        DreamBegan(dream="d", basis=6, now=DAY),
        DreamEnded(dream="d", counts={"pruned": 2}),
        DreamBegan(dream="u", basis=8, now=DAY, undoes="d"),
        DreamEnded(dream="u"),
        Unlinked(a="a", b="b"),
    ) as world:
        ask = world.face.query
        assert ask("SELECT id, query, now, k, session, formula_name, hits FROM recalls").rows == [
            ("r4", "tea?", EPOCH + timedelta(days=3), 2, "s", "f", 2)
        ]
        assert ask("FROM rankings").rows == [("r4", 1, "b", 0.5), ("r4", 2, "a", 0.25)]
        assert ask("FROM edges ORDER BY from_seq").rows == [
            ("a", "b", "related", 0.5, 5, 6),
            ("a", "b", "related", 0.75, 6, 11),
        ]
        assert ask(
            "SELECT dream, began_seq, ended_seq, undone_seq, counts->>'pruned' FROM dreams ORDER BY 2"
        ).rows == [
            ("d", 7, 8, 10, "2"),
            ("u", 9, 10, None, None),
        ]
        assert ask("SELECT memories, session FROM events WHERE seq = 4").rows == [(["b", "a"], "s")]
        assert "vector" not in ask("SELECT fact FROM events WHERE seq = 4")[0][0]


def test_what_is_erased_leaves_the_tables_too():
    with World(log_of(Ingested(id="a", content="secret", at=0), Erased(id="a", seqs=(1,)))) as world:
        world.fold(1)
        assert world.face.query("SELECT content FROM memories").rows == [("secret",)]
        world.fold(2)
        assert world.face.query("SELECT content, visible FROM memories").rows == [(None, False)]
        assert world.face.query("SELECT fact FROM events WHERE seq = 1").rows == [(None,)]
        everything = str([world.face.query(f"FROM {table}").rows for table in SHOWN_TABLES])
        assert "secret" not in everything


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO raw.texts VALUES (1, 'x')",
        "UPDATE raw.texts SET content = 'x'",
        "DROP VIEW memories",
        "CREATE TABLE mine AS SELECT 1",
        "COPY events TO '/tmp/events.csv'",
        "EXPORT DATABASE '/tmp/everything'",
        "ATTACH '/tmp/other.db'",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE INSERT INTO raw.texts VALUES (1, 'x')",
        "explain /* no */ analyze DELETE FROM raw.texts",
        "EXPLAIN(ANALYZE) INSERT INTO raw.texts VALUES (1, 'x')",
        "EXPLAIN (ANALYZE, FORMAT json) DELETE FROM raw.texts",
        "EXPLAIN /* /* */ SELECT 1 -- */ ANALYZE DELETE FROM raw.texts",
        "EXPLAIN/**/SET threads = 1",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP VIEW memories",
        "",
    ],
)
def test_whatever_is_not_one_reading_statement_is_refused(query: str):
    with told(Ingested(id="a", content="x", at=0)) as world:
        with pytest.raises(InvalidInput):
            world.face.query(query)
        assert world.face.query("SELECT count(*) FROM memories").rows == [(1,)]


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_csv('/etc/passwd')",
        "FROM read_text('/etc/passwd')",
        "FROM glob('/etc/*')",
        "FROM '/etc/passwd'",
        "FROM world",
        "FROM batch",
        "SELECT nonsense FROM memories",
        "SELECT $missing",
    ],
)
def test_files_python_objects_and_mistakes_are_out_of_reach(query: str):
    with told(Ingested(id="a", content="x", at=0)) as world:
        with pytest.raises(InvalidInput) as refusal:
            world.face.query(query)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1",
        "WITH a AS (SELECT 1) FROM a",
        "DESCRIBE memories",
        "SHOW TABLES",
        "EXPLAIN FROM events",
        "EXPLAIN(FORMAT json) SELECT 1",
        "EXPLAIN (FORMAT json) SELECT 1",
        "EXPLAIN (ANALYZE, FORMAT json) SELECT ')'",
        "EXPLAIN ANALYZE (FORMAT json) SELECT 1",
        "EXPLAIN (SELECT 1) UNION (SELECT 2)",
        "EXPLAIN/**/SELECT 1",
        "/* ü */ explain -- é\n/* ü */ analyze/**/SELECT 'ü'",
        "VALUES (1)",
    ],
)
def test_reading_statements_are_taken(query: str):
    with told(Ingested(id="a", content="x", at=0)) as world:
        assert len(world.face.query(query)) >= 1


@pytest.mark.parametrize("locked", [True, False])
def test_what_does_not_fit_into_memory_is_never_spilled_to_a_file(
    locked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    face = SqlFace(ListLog([]), Projections(), clock=lambda: 0, locked=locked)
    assert face.query("SELECT current_setting('temp_directory')").rows == [("",)]
    if not locked:
        face._database.execute("SET memory_limit = '40MB'")
        with pytest.raises(InvalidInput, match="Out of Memory"):
            face.query(
                "SELECT max(x) FROM (SELECT x FROM range(20_000_000) t(x) ORDER BY hash(x) LIMIT 15_000_000)"
            )
    face.close()
    assert list(tmp_path.iterdir()) == []


ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t)"


@pytest.mark.parametrize(
    "query",
    [
        f"{ENDLESS} SELECT count(*) FROM t",
        f"{ENDLESS} FROM t",
        "SELECT count(*) FROM range(1_000_000) a, range(1_000_000) b WHERE a.range * b.range < 0",
        "EXPLAIN ANALYZE SELECT count(*) FROM range(1_000_000) a, range(1_000_000) b WHERE a.range * b.range < 0",
    ],
)
def test_a_query_without_end_is_ended_and_the_next_is_answered(query: str, monkeypatch):
    monkeypatch.setattr("recollect.projections.sql.limits.GRACE_S", 180.0)  # a busy machine is slow to end it
    with told(Ingested(id="a", content="x", at=0)) as world:
        with pytest.raises(InvalidInput, match=r"longer than 0\.2 s and was ended"):
            world.face.query(query, seconds=0.2)
        assert world.face.query("SELECT id FROM memories").rows == [("a",)]


def test_a_query_that_cannot_be_interrupted_is_left_to_itself_and_the_next_is_answered(monkeypatch):
    monkeypatch.setattr("recollect.projections.sql.limits.GRACE_S", 0.0)
    with Memory.open(":memory:", embedder="hash") as memory:
        memory.remember("tea", id="a")
        with pytest.raises(
            InvalidInput, match=r"longer than 0\.001 s and could not be stopped: it may go on"
        ):
            memory.sql(" UNION ALL ".join(["SELECT 1"] * 2_000), timeout=0.001)
        assert memory.sql("SELECT id FROM memories").rows == [("a",)]


def test_a_query_that_ctrl_c_does_not_end_is_left_to_itself_and_the_next_is_answered(monkeypatch):
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt  # while waiting, and once more in the time of grace

    with Memory.open(":memory:", embedder="hash") as memory:
        memory.remember("tea", id="a")
        assert memory.sql("SELECT id FROM memories").rows == [("a",)]
        let_go = threading.Event()
        at_work = memory._sql._face
        monkeypatch.setattr(at_work, "_read", lambda *_: let_go.wait())
        with monkeypatch.context() as patched:
            patched.setattr("recollect.projections.sql.limits.threading", Threading(Interrupted))
            with pytest.raises(KeyboardInterrupt):
                memory.sql("SELECT 1")
        assert at_work.abandoned
        assert memory.sql("SELECT id FROM memories").rows == [("a",)]
        let_go.set()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT max(x) FROM (SELECT x FROM range(40_000_000) t(x) ORDER BY hash(x) LIMIT 35_000_000)",
        "SELECT len(list(range)) FROM range(100_000_000)",
    ],
)
def test_a_query_may_use_so_much_memory_and_the_next_is_answered(query: str, monkeypatch):
    monkeypatch.setenv("RECOLLECT_SQL_MEMORY", "64MB")
    with told(Ingested(id="a", content="x", at=0)) as world:
        with pytest.raises(InvalidInput, match=r"more memory than it may use.*RECOLLECT_SQL_MEMORY"):
            world.face.query(query)
        assert world.face.query("SELECT id FROM memories").rows == [("a",)]


def test_an_answer_is_not_built_beyond_a_size(monkeypatch):
    monkeypatch.setattr("recollect.projections.sql.limits.ANSWER_BYTES_MAX", 1_000_000)
    with told(Ingested(id="a", content="x", at=0)) as world:
        for query in ("FROM range(1_000_000_000)", "SELECT repeat('x', 900_000) FROM range(3)"):
            with pytest.raises(InvalidInput, match="LIMIT"):
                world.face.query(query)
        assert len(world.face.query("FROM range(5_000)")) == 5_000


@pytest.mark.parametrize("size", ["", "much", "1", "15MB", "-1GB", "1GB'; SET threads = 1; --"])
def test_an_invalid_size_is_refused(size: str, monkeypatch):
    monkeypatch.setenv("RECOLLECT_SQL_MEMORY", size)
    with pytest.raises(InvalidInput, match="such as 512MB or 2GB"):
        SqlFace(ListLog([]), Projections(), clock=lambda: 0)


@pytest.mark.parametrize(
    ("query", "seconds", "says"),
    [
        ("SELECT len(list_sort(range(1_000_000_000)))", 60, "more memory than it may use"),
        ("SELECT repeat('x', 3_000_000_000)", 60, "more memory than it may use"),
        (f"{ENDLESS} FROM t", 1, "longer than 1 s"),
    ],
)
def test_the_command_ends_in_one_line_whatever_the_query_takes(query, seconds, says, tmp_path: Path):
    """Single values that DuckDB does not count are bounded by the process."""
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("tea")
    command = [
        sys.executable,
        "-m",
        "recollect",
        "sql",
        "--no-daemon",
        "--store",
        str(tmp_path / "store"),
        "--timeout",
    ]
    done = subprocess.run([*command, str(seconds), query], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert says in done.stderr


@settings(max_examples=50)
@given(events=logs(max_size=25))
def test_a_fact_in_json_says_all_its_fields_and_is_the_same_fact(events):
    for fact in (event.fact for event in events if isinstance(event.fact, Fact)):
        text = json(spelled_out(fact))
        assert msgspec.json.decode(text, type=AnyFact) == fact
        said = {
            name
            for name, value in msgspec.structs.asdict(fact).items()
            if value is not msgspec.UNSET and (value is not None or isinstance(fact, Revised))
        }
        assert set(msgspec.json.decode(text)) == {"type", *said}


def test_sql_finds_what_the_log_leaves_out_because_it_is_the_default():
    question = Question(text="tea?", now=0, filters=Filters(kinds=("note",)))
    with told(
        Ingested(id="a", content="x", at=0),
        Ingested(id="b", content="x", at=0, kind="decision"),
        Accessed(ids=("a",), at=0),
        Accessed(ids=("a",), at=0, how="returned"),
        Accessed(ids=("b",), at=0),
        Revised(id="a", at=0, project=None),
        Recalled(question=question, basis=6, formula="f0", ids=(), scores=()),
    ) as world:
        ask = world.face.query
        assert ask(
            "SELECT fact->>'how' AS how, count(*) FROM events WHERE how != '' GROUP BY 1 ORDER BY 1"
        ).rows == [
            ("returned", 1),
            ("used", 2),
        ]
        assert ask("SELECT seq FROM events WHERE fact->>'kind' = 'note'").rows == [(1,)]
        assert ask("SELECT fact FROM events WHERE seq = 6").rows == [
            ('{"type":"memory.revised","id":"a","at":0,"project":null}',)
        ]
        assert ask(
            "SELECT fact->>'$.question.k', fact->>'$.question.filters.tags' FROM events WHERE seq = 7"
        ).rows == [("10", "[]")]


def test_visible_is_what_memories_shows_now_and_at_every_seq(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash", clock=Hours()) as memory:
        clock = memory._store.clock
        soon = to_datetime(clock() + 5 * DAY // 24)
        memory.remember("tea", id="stays")
        memory.remember("cup", id="expires", expires_at=soon)
        memory.remember("pot", id="forgotten")
        memory.forget("forgotten")
        memory.remember("secret", id="erased")
        memory.erase("erased")
        memory.remember("late", id="last")
        for seq in range(1, memory.status().head + 1):
            found = memory.sql("SELECT id FROM memories_as_of($seq) WHERE visible ORDER BY id", seq=seq)
            assert [id_ for (id_,) in found] == sorted(memo.id for memo in memory.memories(at=seq))
        assert memory.sql("SELECT visibility FROM memories_as_of(3) WHERE id = 'expires'")[0] == ("visible",)
        assert dict(memory.sql("SELECT id, visibility FROM memories").rows) == {
            "stays": "visible", "expires": "expired", "forgotten": "forgotten", "erased": "erased", "last": "visible",
        }  # fmt: skip
        birth = memory.history("erased")[0].seq
        for table in (f"memories_as_of({birth})", "memory_history"):
            assert memory.sql(
                f"SELECT DISTINCT visible, visibility FROM {table} WHERE id = 'erased'"
            ).rows == [(False, "erased")]
        assert memory.at(birth).get("erased").state.visibility == "erased"


@pytest.mark.parametrize("seq", [3, 99_999, -1])
def test_a_seq_that_the_log_does_not_have_is_refused(seq: int):
    with told(Ingested(id="a", content="x", at=0), Revised(id="a", at=0, importance=0.9)) as world:
        assert world.face.query("SELECT id FROM memories_as_of(2)").rows == [("a",)]
        assert world.face.query("SELECT id FROM memories_as_of(0)").rows == []
        for query, values in (
            (f"FROM memories_as_of({seq})", {}),
            ("FROM memories_as_of($seq)", {"seq": seq}),
        ):
            with pytest.raises(InvalidInput, match=f"@{seq} is not in this log, which ends at @2"):
                world.face.query(query, values)


def test_columns_of_the_same_name_get_distinct_names_as_in_the_database():
    with told(Ingested(id="a", content="x", at=0)) as world:
        query = "SELECT 1 AS a, 2 AS a, 3 AS A, 4 AS a_1"
        table = world.face.query(query)
        assert table.columns == world.face.query(f"FROM ({query})").columns
        assert table.dicts() == [{"a": 1, "a_1": 2, "A_2": 3, "a_1_1": 4}]
        joined = world.face.query("SELECT m.id, h.id FROM memories m JOIN memory_history h ON m.id = h.id")
        assert joined.dicts() == [{"id": "a", "id_1": "a"}]


def test_a_query_that_is_no_text_is_refused():
    with Memory.open(":memory:", embedder="hash") as memory:
        for query in (5, None, "SELECT '\ud800'"):
            with pytest.raises(InvalidInput, match=r"^statement "):
                memory.sql(query)


def test_a_store_that_is_not_closed_ends_without_complaints(tmp_path: Path):
    code = (
        "from recollect import Memory\n"
        "memory = Memory.open('store', embedder='hash')\n"
        "memory.remember('tea')\n"
        "print(memory.sql('SELECT count(*) FROM memories').rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[(1,)]\n", "")


def test_a_face_that_is_let_go_closes_its_database():
    face = SqlFace(ListLog([]), Projections(), clock=lambda: 0)
    closing = face.close
    del face
    gc.collect()
    assert not closing.alive


def test_parameters_are_bound_and_never_pasted():
    with told(Ingested(id="a", content="x", at=0)) as world:
        evil = "'; DROP VIEW memories; --"
        assert world.face.query("SELECT $text", {"text": evil}).rows == [(evil,)]
        assert world.face.query("SELECT id FROM memories WHERE id = $id", {"id": "a"}).rows == [("a",)]


def test_the_tables_go_out_as_parquet(tmp_path: Path):
    with told(
        Ingested(id="a", content="x", at=0, tags=("t",)), Revised(id="a", at=DAY, importance=1.0)
    ) as world:
        written = export_parquet(
            ListLog(world.events), world.projections, tmp_path / "it's here", clock=lambda: 0
        )
        assert [path.stem for path in written] == list(SHOWN_TABLES)
        with duckdb.connect() as database:
            for path in written:
                rows = database.execute(
                    "SELECT * FROM read_parquet($path) ORDER BY ALL", {"path": str(path)}
                ).fetchall()
                assert rows == world.face.query(f"FROM {path.stem} ORDER BY ALL").rows


def test_a_table_that_does_not_fit_into_memory_is_refused_in_one_line(tmp_path: Path):
    with told(Ingested(id="a", content="x", at=0)) as world:
        face = SqlFace(ListLog(world.events), world.projections, clock=lambda: 0, locked=False)
        face.update()
        face._database.execute("SET memory_limit = '1MB'")
        face._database.execute("CREATE VIEW wide AS SELECT list(range) FROM range(1_000_000)")
        with pytest.raises(RecollectError, match=r"wide\.parquet needs more memory.*RECOLLECT_SQL_MEMORY"):
            face.copy_out("wide", tmp_path / "wide.parquet")
        with pytest.raises(RecollectError, match=r"nothing\.parquet could not be written"):
            face.copy_out("nothing", tmp_path / "nothing.parquet")


def test_an_export_may_use_as_much_memory_beside_the_tables_as_a_query(tmp_path: Path, monkeypatch):
    limits = []
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("tea", id="a")
        opened = SqlFace.__init__

        def spied(self: SqlFace, *args: object, **options: object) -> None:
            limits.append(options["memory_bytes"])
            opened(self, *args, **options)

        monkeypatch.setattr(SqlFace, "__init__", spied)
        memory.sql("SELECT 1")
        memory.export(tmp_path / "tables")
        assert limits == [1_000_000_000 + 4 * memory.store.log.status().bytes] * 2


def test_a_statement_may_name_a_parameter_timeout(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        assert memory.sql("SELECT $timeout", timeout="late").rows == [("late",)]
        assert memory.sql("SELECT $timeout + $x", timeout=0, x=1).rows == [(1,)]
        with pytest.raises(InvalidInput, match="timeout"):
            memory.sql("SELECT $timeout")
        with pytest.raises(InvalidInput, match="timeout must be a number"):
            memory.sql("SELECT '$timeout'", timeout="late")
    given = [
        "sql",
        "SELECT $timeout AS t",
        "--param",
        "timeout=7",
        "--json",
        "--store",
        str(tmp_path / "store"),
    ]
    assert '"t": 7' in CliRunner().invoke(main, given).output


def test_memory_sql_reads_the_head_and_binds_its_keywords():
    with Memory.open(":memory:", embedder="hash", clock=Hours()) as memory:
        memory.remember("tea", id="a")
        assert memory.sql("SELECT content FROM memories WHERE id = $id", id="a")[0] == ("tea",)
        tell(memory, Ingested(id="b", content="cup", at=0))
        table = memory.sql("SELECT id FROM memories ORDER BY id")
        assert table.columns == ("id",)
        assert list(table) == [("a",), ("b",)]
        assert table.dicts() == [{"id": "a"}, {"id": "b"}]
        head = memory.status().head
        memory.sql("SELECT 1")
        assert memory.status().head == head
