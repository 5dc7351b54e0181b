"""The hook puts memories before a prompt, says that it did, and never blocks one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from recollect.engine.answers import Answer, Hit
from recollect.events.disk import RealDisk, WriterLock
from recollect.interfaces.cli.app import main
from recollect.interfaces.mcp.hook import TooSlow, relevant, run_within
from recollect.interfaces.python.memory import Memory


def hook(store, stdin: bytes = b"", *options: str):
    command = ["hook", "--store", str(store), "--embedder", "hash", "--timeout", "60", *options]
    return CliRunner().invoke(main, command, input=stdin)


def prompted(prompt: str, **more: str) -> bytes:
    given = {
        "session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/work", "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }  # fmt: skip
    return json.dumps(given | more).encode()


@pytest.fixture
def store(tmp_path):
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("Auth sessions live in Postgres, not Redis", id="auth")
        memory.remember("Postgres is backed up at night, " + "x" * 400, id="backup")
    return tmp_path / "store"


def test_memories_are_injected_and_recorded_as_injected(store):
    result = hook(store, prompted("where do auth sessions live?"), "-k", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    said = json.loads(result.stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == "UserPromptSubmit"
    assert "[auth] Auth sessions live in Postgres, not Redis" in said["additionalContext"]
    with Memory.open(store, embedder="hash") as memory:
        state = memory.get("auth").state
        assert (state.injected_count, state.used_count) == (1, 0)
        last = list(memory.log(limit=2))
        assert [event.type for event in last] == ["recall.answered", "memory.accessed"]
        assert f"r{last[0].seq}" in said["additionalContext"]
        assert "injected: auth in session s1" in last[1].summary
        assert memory.verify().exact


def test_hits_that_do_not_fit_are_neither_injected_nor_recorded_as_injected(store):
    hook(store, prompted("postgres backed up at night; auth sessions"), "--max-tokens", "100")
    with Memory.open(store, embedder="hash") as memory:
        injected = {id_: memory.get(id_).state.injected_count for id_ in ("auth", "backup")}
    assert sum(injected.values()) <= 1
    assert injected["backup"] == 0


@pytest.mark.parametrize(
    ("stdin", "note"),
    [
        (b"", "not the JSON of a Claude Code hook"),
        (b"[]", "not the JSON of a Claude Code hook"),
        (
            prompted("x", hook_event_name="PreToolUse"),
            "answers UserPromptSubmit, SessionStart and Stop, not PreToolUse",
        ),
        (prompted("x" * 1_000_001), "characters"),
        (
            b'{"prompt": "x", "more": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            "not the JSON of a Claude Code hook",
        ),
    ],
)
def test_a_failure_is_a_note_and_blocks_nothing(store, stdin, note):
    result = hook(store, stdin)
    assert (result.exit_code, result.stdout) == (0, "")
    assert note in result.stderr


def test_no_words_no_match_and_no_store_yet_are_silent(store, tmp_path, monkeypatch):
    with Memory.open(tmp_path / "empty", embedder="hash") as memory:
        memory.status()
    for where, prompt in ((store, "   "), (tmp_path / "empty", "x")):
        result = hook(where, prompted(prompt))
        assert (result.exit_code, result.output) == (0, "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RECOLLECT_STORE", raising=False)
    result = CliRunner().invoke(main, ["hook", "--embedder", "hash", "--timeout", "60"], input=prompted("x"))
    assert (result.exit_code, result.output) == (0, "")


def test_a_store_that_was_named_and_is_not_there_is_noted_and_not_made(tmp_path):
    result = hook(tmp_path / "nowhere", prompted("x"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"there is no store at {tmp_path / 'nowhere'}; nothing was injected" in result.stderr
    assert not (tmp_path / "nowhere").exists()


def test_a_project_that_no_memory_can_have_is_noted_and_nothing_is_recorded(store):
    result = hook(store, prompted("auth"), "--project", "")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "project '' is empty" in result.stderr
    with Memory.open(store, embedder="hash") as memory:
        assert memory.status().recalls == 0


@pytest.mark.parametrize(
    ("prompt", "recalls"),
    [("/clear", 0), ("/plugin:review-all src", 0), ("/etc/hosts is wrong", 1), ("a /clear", 1)],
)
def test_a_command_is_no_question(store, prompt, recalls):
    result = hook(store, prompted(prompt))
    assert (result.exit_code, result.stderr) == (0, "")
    with Memory.open(store, embedder="hash") as memory:
        assert memory.status().recalls == recalls


def test_hits_far_below_the_best_are_neither_injected_nor_recorded_as_injected(store):
    with Memory.open(store, embedder="hash") as memory:
        memory.remember("Bananas are yellow", id="bananas")
        scores = {h.id: h.score for h in memory.recall("where do auth sessions live?", record=False).hits}
    share = scores["backup"] / scores["auth"]
    assert 0 < share < 1
    for min_share, injected in ((share * 1.01, 0), (share * 0.99, 1), (0, 2)):
        asked = prompted("where do auth sessions live?", session_id=f"s{min_share}")
        hook(store, asked, "--min-share", str(min_share))
        with Memory.open(store, embedder="hash") as memory:
            assert memory.get("backup").state.injected_count == injected


def test_a_share_is_of_a_score_above_nothing():
    def scored(*scores: float) -> Answer:
        hits = tuple(
            Hit(id=str(n), score=score, rank=n, content="", factors={}) for n, score in enumerate(scores, 1)
        )
        return Answer(id="r1", basis=0, formula="", query="", now="", hits=hits)

    kept = [hit.score for hit in relevant(scored(0.9, 0.9 * 0.5, 0.9 * 0.1), 0.3).hits]
    assert kept == [0.9, 0.9 * 0.5]
    assert relevant(scored(-1.0, -3.0), 0.3) == scored(-1.0, -3.0)
    assert relevant(scored(), 0.3) == scored()


def test_a_prompt_is_not_held_up_beyond_the_limit(store):
    command = [sys.executable, "-m", "recollect", "hook", "--store", str(store), "--embedder", "hash"]
    with WriterLock(RealDisk(), store / "log" / "writer.lock", timeout_s=60).held():  # it cannot be quick
        done = subprocess.run(
            [*command, "--prompt", "auth", "--timeout", "0.000001"],
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert "no answer within 1e-06 s" in done.stderr


@pytest.mark.parametrize("options", [
    ("--unknown",), ("-k", "many"), ("-k", "0"), ("--timeout",), ("--timeout", "inf"), ("--timeout", "1e10"),
    ("--timeout", "nan"), ("--timeout", "0"), ("--max-tokens", "0"), ("--max-tokens", "-1"), ("--min-share", "2"),
    ("--min-share", "nan"),
])  # fmt: skip
def test_a_mistyped_option_is_told_and_does_not_block_the_prompt(store, options):
    result = hook(store, prompted("auth"), *options)
    assert result.exit_code == 1
    assert "Error: " in result.stderr
    assert options[0] in result.stderr


def test_work_within_the_limit_gives_its_outcome_or_its_failure():
    assert run_within(60.0, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_within(60.0, lambda: 1 // 0)
    with pytest.raises(TooSlow):
        run_within(0.001, threading.Event().wait)


def context(result) -> str:
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)["hookSpecificOutput"]["additionalContext"] if result.stdout else ""


QUESTION = "where do auth sessions live?"


def test_a_session_is_not_given_again_what_it_was_given_unless_that_has_changed(store):
    first = context(hook(store, prompted(QUESTION), "-k", "1"))
    assert "[auth] Auth sessions live in Postgres, not Redis (note, 20" in first  # with its date
    assert "[auth]" not in context(hook(store, prompted(QUESTION), "-k", "1"))
    assert "[auth]" in context(hook(store, prompted(QUESTION, session_id="s2"), "-k", "1"))
    with Memory.open(store, embedder="hash") as memory:
        memory.revise("auth", "Auth sessions live in Valkey, not Redis")
    assert "live in Valkey" in context(hook(store, prompted(QUESTION), "-k", "1"))
    assert "[auth]" not in context(hook(store, prompted(QUESTION), "-k", "1"))


@pytest.fixture
def projects(tmp_path):
    (tmp_path / "code" / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "code" / "shop" / "src").mkdir()
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        for project in ("shop", "blog", None):
            text = f"Auth sessions of {project or 'all'} live in Postgres"
            memory.remember(
                text, id=f"of-{project}", project=project, at="2026-01-02" if project else "2026-01-01"
            )
    return tmp_path


def test_the_project_is_that_of_the_folder_and_what_belongs_to_none_comes_along(projects):
    where = str(projects / "code" / "shop" / "src")
    given = context(hook(projects / "store", prompted(QUESTION, cwd=where), "--min-share", "0"))
    assert ("[of-shop]" in given, "[of-None]" in given, "[of-blog]" in given) == (True, True, False)
    given = context(
        hook(projects / "store", prompted(QUESTION, cwd=where), "--min-share", "0", "--project", "blog")
    )
    assert ("[of-shop]" in given, "[of-None]" in given, "[of-blog]" in given) == (False, False, True)
    with Memory.open(projects / "store", embedder="hash") as memory:
        assert memory.verify().exact


def started(source: str, **more: str) -> bytes:
    """What Claude Code sends when a session starts."""
    given = {
        "session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/work", "hook_event_name": "SessionStart",
        "source": source,
    }  # fmt: skip
    return json.dumps(given | more).encode()


def test_a_session_that_starts_is_given_the_newest_memories_of_its_project(projects):
    where = str(projects / "code" / "shop")
    given = context(hook(projects / "store", started("startup", cwd=where)))
    assert given.index("[of-shop]") < given.index("[of-None]")
    assert "[of-blog]" not in given
    with Memory.open(projects / "store", embedder="hash") as memory:
        assert memory.get("of-shop").state.injected_count == 1
        assert memory.status().recalls == 0
    assert context(hook(projects / "store", prompted(QUESTION, cwd=where), "--min-share", "0")) == ""
    assert context(hook(projects / "store", started("resume", cwd=where))) == ""
    again = context(hook(projects / "store", started("compact", cwd=where)))
    assert ("[of-shop]" in again, "[of-None]" in again) == (True, True)
    assert context(hook(projects / "store", started("compact", cwd=where, session_id="other"))) == ""
    small = context(
        hook(projects / "store", started("startup", cwd=where, session_id="s3"), "--max-tokens", "75")
    )
    assert small.count("[of-") == 1


def stopped(**more: object) -> bytes:
    """What Claude Code sends when the model has answered."""
    given = {
        "session_id": "s1", "transcript_path": "/nowhere.jsonl", "cwd": "/work", "hook_event_name": "Stop",
        "stop_hook_active": False,
    }  # fmt: skip
    return json.dumps(given | more).encode()


def used(store) -> dict[str, int]:
    with Memory.open(store, embedder="hash") as memory:
        return {id_: memory.get(id_).state.used_count for id_ in ("auth", "backup")}


def test_memories_that_the_model_names_when_it_stops_count_as_used(store):
    hook(store, prompted("where do auth sessions live?"), "-k", "1")
    for said in (
        {"last_assistant_message": "I know nothing of auth."},
        {"last_assistant_message": "In Postgres [auth].", "stop_hook_active": True},
        {"last_assistant_message": "In Postgres [auth].", "session_id": "another"},
        {"last_assistant_message": "Postgres is backed up [backup]."},  # which was not given
        {},
    ):
        assert hook(store, stopped(**said)).output == ""
    assert used(store) == {"auth": 0, "backup": 0}
    result = hook(store, stopped(last_assistant_message="They live in Postgres [auth]."))
    assert (result.exit_code, result.output) == (0, "")
    assert used(store) == {"auth": 1, "backup": 0}


def test_without_the_last_message_the_end_of_the_transcript_is_read(store, tmp_path):
    hook(store, prompted("where do auth sessions live?"), "-k", "1")

    def transcript(*turns: dict) -> str:
        path = tmp_path / "t.jsonl"
        path.write_text("not json\n" + "".join(f"{json.dumps(turn)}\n" for turn in turns), "utf-8")
        return str(path)

    def turn(who: str, content: object) -> dict:
        return {"type": who, "message": {"role": who, "content": content}}

    before = turn("assistant", [{"type": "text", "text": "In Postgres [auth]."}])
    asked = turn("user", "and what else?")
    tool = turn("user", [{"type": "tool_result", "content": "x"}])
    hook(store, stopped(transcript_path=transcript(before, asked, turn("assistant", "Nothing."))))
    assert used(store)["auth"] == 0
    hook(store, stopped(transcript_path=transcript(asked, before, tool, {"type": "summary"})))
    assert used(store)["auth"] == 1
