"""The commands of time travel: what they print, as text and as JSON, and their exit status."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.interfaces.cli.app import clear_errors, main
from recollect.interfaces.cli.render.time_travel import sparkline
from recollect.interfaces.python.memory import Memory


class Cli:
    def __init__(self, store: Path) -> None:
        self.store = store
        self._environment = {"RECOLLECT_STORE": str(store), "RECOLLECT_EMBEDDER": "hash"}

    def __call__(self, *arguments: str, status: int = 0) -> str:
        result: Result = CliRunner().invoke(main, list(arguments), env=self._environment)
        assert result.exit_code == status, result.output
        return result.output

    def json(self, *arguments: str, status: int = 0):
        return json.loads(self(*arguments, "--json", status=status))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """@2 a, @3 b, @4 c; @5-7 a recall; @8 an access; @9 the rival that passes a."""
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie") as memory:
        memory.remember("auth sessions live in postgres", id="a", valid_to="2126-06-01")
        memory.remember("deploys on tuesday", id="b", kind="decision", tags=["ops"])
        memory.remember("auth cookies last a day", id="c")
        memory.recall("auth sessions", session="monday")
        memory.access("a", "tuesday")
        memory.remember("auth sessions auth sessions", id="rival")
    return Cli(tmp_path / "store")


def ids(found: list[dict]) -> list[str]:
    return [one["id"] for one in found]


def test_memories_now_then_and_filtered(cli: Cli):
    assert ids(cli.json("memories")) == ["a", "b", "c", "rival"]
    assert ids(cli.json("memories", "--at", "@3")) == ["a", "b"]
    assert ids(cli.json("memories", "--kind", "decision", "--tag", "ops")) == ["b"]
    assert ids(cli.json("memories", "--valid-at", "2126-07-01")) == ["b", "c", "rival"]
    assert "deploys on tuesday" in cli("memories")
    assert "no memories" in cli("memories", "--at", "@1")


def test_recall_and_get_as_of_a_moment(cli: Cli):
    then = cli.json("recall", "auth sessions", "--at", "@4")
    assert (then["id"], then["basis"], then["hits"][0]["id"]) == (None, 4, "a")
    valid = cli.json("recall", "auth sessions", "--at", "@4", "--valid-at", "2126-07-01")
    assert "a" not in ids(valid["hits"])
    assert cli.json("get", "a", "--at", "@4")["state"]["access_count"] == 0
    assert cli.json("get", "a")["state"]["access_count"] == 2
    assert "as of @1" in cli("get", "a", "--at", "@1", status=2)


def seqs(events: list[dict]) -> list[int]:
    return [event["seq"] for event in events]


def test_the_log_in_words_and_its_filters(cli: Cli):
    assert seqs(cli.json("log")) == list(range(1, 10))
    assert seqs(cli.json("log", "--memory", "a")) == [2, 6, 7, 8]
    assert seqs(cli.json("log", "--session", "tuesday")) == [8]
    assert seqs(cli.json("log", "--type", "recall")) == [6]
    assert seqs(cli.json("log", "--type", "memory.ingested", "--since", "@3", "--until", "@4")) == [3, 4]
    assert seqs(cli.json("log", "--limit", "2")) == [8, 9]
    assert cli.json("log", "--until", "2001-01-01") == []
    lines = cli("log", "--memory", "b").splitlines()
    assert lines[0].startswith("@3  ")
    assert lines[0].endswith("memory.ingested     remembered b: deploys on tuesday")
    assert "there is no event type 'nope'" in cli("log", "--type", "nope", status=2)


def test_following_shows_what_comes_and_stops_cleanly_on_interrupt(cli: Cli):
    code = "from recollect.interfaces.cli.app import main; main()"
    environment = {**os.environ, "RECOLLECT_STORE": str(cli.store), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", code, "log", "--follow", "--limit", "1", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as follower:
        try:
            assert json.loads(follower.stdout.readline())["seq"] == 9
            with Memory.open(cli.store, embedder="hash") as memory:
                memory.remember("news", id="n")
            assert json.loads(follower.stdout.readline())["summary"] == "remembered n: news"
            time.sleep(0.1)
            follower.send_signal(signal.SIGINT)
            rest, errors = follower.communicate(timeout=120)
        finally:
            follower.kill()
    assert (follower.returncode, rest, errors.strip()) == (0, "", "")


def test_why_changed_says_one_sentence_and_the_parts(cli: Cli):
    text = cli("why-changed", "auth sessions", "a", "--since", "@8")
    assert text.splitlines()[0].startswith("a went from rank 1")
    assert "other memories (passed by rival)" in text.splitlines()[0]
    result = cli.json("why-changed", "auth sessions", "a", "--since", "@8", "--until", "@9")
    assert (result["cause"], result["passed_by"], result["rank_change"]) == ("others", ["rival"], 1)
    assert abs(sum(part["score"] for part in result["parts"]) - result["score_change"]) <= 1e-12
    assert "swap them" in cli("why-changed", "auth", "a", "--since", "@9", "--until", "@2", status=2)


def test_bisect_shows_the_event_and_the_rankings_around_it(cli: Cli):
    text = cli("bisect", "auth sessions", "a", "--until-rank", "1")
    assert text.splitlines()[0] == "a left the top 1 with @9 (rank 1 → rank 2)"
    assert "@9  remembered rival: auth sessions auth sessions" in text
    assert "just before, @8" in text
    assert cli.json("bisect", "auth sessions", "a", "--since", "@2", "--until-rank", "1", "--all")["seq"] == 9
    nothing = cli.json("bisect", "auth sessions", "a", "--until-rank", "9", status=1)
    assert nothing["seq"] is None


def test_history_with_ranks(cli: Cli):
    points = cli.json("history", "a", "--ranks", "auth sessions")["points"]
    assert [(point["seq"], point["rank"]) for point in points][-2:] == [(8, 1), (9, 2)]
    assert cli("history", "a", "--ranks", "auth sessions").splitlines()[0] == "@2 ███████▁ @9"
    assert seqs(cli.json("history", "a")) == [2, 7, 8]


def test_sparkline_puts_the_first_rank_on_top_and_a_dot_where_there_is_none():
    assert sparkline([1, 1]) == "██"
    assert sparkline([None, 1, 8]) == "·█▁"
    assert sparkline([None]) == "·"
    assert sparkline([3, 5]) == "▅▁"


def test_sql_prints_tables_and_binds_parameters(cli: Cli):
    found = cli.json(
        "sql",
        "SELECT id FROM memories_as_of($seq) WHERE kind = $kind",
        "--param",
        "seq=4",
        "--param",
        "kind=note",
    )
    assert sorted(ids(found)) == ["a", "c"]
    assert "1 row" in cli("sql", "SELECT 7 AS lucky")
    refused = cli("sql", "DROP VIEW memories", status=2)
    assert refused.count("\n") == 1
    assert "DROP is refused" in refused
    assert "is not NAME=VALUE" in cli("sql", "SELECT 1", "--param", "nonsense", status=2)


def test_sql_parameters_are_numbers_unless_they_are_quoted(cli: Cli):
    kind = "SELECT typeof($x) AS kind"
    assert cli.json("sql", kind, "--param", "x=123") == [{"kind": "INTEGER"}]
    assert cli.json("sql", kind, "--param", 'x="123"') == [{"kind": "VARCHAR"}]
    assert """'"123"' as text""" in " ".join(cli("sql", "--help").split())


def test_sql_loses_no_column_of_a_name_that_comes_twice(cli: Cli):
    assert cli.json("sql", "SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_1": 2}]


def test_a_log_that_nothing_can_be_in_is_refused_in_one_line(cli: Cli):
    for options, says in (
        (["--memory", "nope"], "no memory has the id 'nope' as of @9"),
        (["--since", "@99999"], "@99999 is not in this log, which ends at @9"),
        (["--since", "@5", "--until", "@4"], "since (@5) lies after until (@4); swap them"),
    ):
        assert cli("log", *options, status=2) == f"recollect: {says}\n"


def test_a_file_that_cannot_be_written_is_one_clear_line(cli: Cli, tmp_path: Path):
    (tmp_path / "file").touch()
    said = cli("export", str(tmp_path / "file" / "log.jsonl"), status=2)
    assert said == f"recollect: {tmp_path / 'file'}: File exists\n"
    assert cli("export", "", status=2).startswith("recollect: '' is no place")


@pytest.mark.parametrize(
    "error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), io.UnsupportedOperation("fileno")]
)
def test_a_reader_that_has_gone_and_our_own_mistakes_are_no_failure_of_a_file(error: OSError):
    def command() -> None:
        raise error

    with pytest.raises(type(error)):
        clear_errors(command)()


def test_export_and_import(cli: Cli, tmp_path: Path):
    out = cli.json("export", str(tmp_path / "log.jsonl"))
    copy = Cli(tmp_path / "copy")
    assert copy.json("import", str(tmp_path / "log.jsonl"))["chain"] == out["chain"]
    assert copy.json("import", str(tmp_path / "log.jsonl"))["events"] == 0
    assert copy.json("status")["head"] == 9
    assert "the tables" in cli("export", str(tmp_path / "tables"))


def test_looking_into_a_store_that_is_not_there_makes_none(tmp_path: Path):
    cli = Cli(tmp_path / "nowhere")
    for command in (["log"], ["memories"], ["sql", "SELECT 1"], ["export", "x.jsonl"], ["bisect", "q", "a"]):
        assert "there is no store" in cli(*command, status=2)
    assert not (tmp_path / "nowhere").exists()
