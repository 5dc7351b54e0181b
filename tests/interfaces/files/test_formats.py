"""Every foreign format comes in with its texts, times, roles and sessions; samples in their real format are in golden/foreign."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from recollect.events.errors import InvalidInput
from recollect.events.transfer import NotImportable
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
SAMPLES = Path(__file__).parents[2] / "golden" / "foreign"


def at(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000) * 1_000


def told(memory: Memory) -> dict[str, str]:
    return {memo.id: memo.content for memo in memory.memories()}


def neighbours(memory: Memory, id_: str) -> list[str]:
    """The memories before and after one in its session."""
    view = memory.store.view()
    found = view.conversations.neighbours(np.array([view.documents.ids.find(id_)]))
    return ["" if n[0] < 0 else view.documents.ids.values[int(n[0])] for n in found]


def edges(memory: Memory) -> set[tuple[str, str, str]]:
    view = memory.store.view()
    values = view.documents.ids.values
    return {
        (values[edge.a], edge.kind, values[edge.b])
        for number in range(len(values))
        for edge in view.graph.edges_of(number, view.seq, direction="out")
    }


# --- conversations ---------------------------------------------------------------------------------


def test_chatgpt_follows_the_branch_that_the_user_sees_with_times_roles_and_sessions(memory: Memory):
    done = memory.import_(SAMPLES / "chatgpt" / "conversations.json")
    assert (done.format, done.read, done.remembered) == ("chatgpt", 6, 6)
    assert list(told(memory)) == [f"chatgpt:{n}" for n in ("aaa3", "aaa5", "aaa6", "aaa9", "bbb2", "bbb3")]
    assert done.skipped == {
        "call of a tool": 1, "on another branch": 1, "system message": 1, "tool message": 1,
    }  # fmt: skip
    asked, answered = memory.get("chatgpt:aaa3").state, memory.get("chatgpt:aaa5").state
    assert (asked.tags, answered.tags) == (("user",), ("assistant",))
    assert asked.created_at == at("2026-01-01T11:00:01.5")
    assert asked.kind == "turn"
    assert asked.session == answered.session == "11111111-aaaa-4000-8000-000000000001"
    assert asked.source == "chatgpt: Green tea"
    assert neighbours(memory, "chatgpt:aaa5") == ["chatgpt:aaa3", "chatgpt:aaa6"]
    assert told(memory)["chatgpt:aaa6"] == "Is this kettle good enough? 🍵"


def test_a_chatgpt_message_without_a_time_stands_after_the_one_before_it(memory: Memory, tmp_path: Path):
    def node(name: str, parent: str | None, role: str, time: float | None) -> dict[str, object]:
        content = {"content_type": "text", "parts": [f"{name} was said"]}
        message = {"id": name, "author": {"role": role}, "create_time": time, "content": content}
        return {"message": message, "parent": parent}

    begun = 1_700_000_000.0
    chat = {
        "id": "c", "create_time": begun, "current_node": "e",
        "mapping": {
            "a": node("a", None, "user", None), "b": node("b", "a", "user", begun + 60),
            "c": node("c", "b", "tool", begun + 70), "d": node("d", "c", "assistant", None),
            "e": node("e", "d", "user", begun + 90),
        },
    }  # fmt: skip
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chat]), "utf-8")
    memory.import_(path)
    seconds = {m.id[-1]: m.state.created_at / 1_000_000 - begun for m in memory.memories()}
    assert seconds == {"a": 0, "b": 60, "d": 70, "e": 90}
    assert neighbours(memory, "chatgpt:d") == ["chatgpt:b", "chatgpt:e"]
    assert memory.import_(path).events == 0


def test_claude_ai_keeps_what_was_said_and_leaves_thinking_tools_and_files_out(memory: Memory):
    done = memory.import_(SAMPLES / "claude")
    assert (done.format, done.remembered) == ("claude", 3)
    answer = memory.get("claude:22222222-0000-4000-8000-000000000002")
    assert answer.content == (
        "Only for show: no glue is safe for hot tea.\n\nKintsugi with real urushi lacquer is the exception."
    )
    assert answer.state.tags == ("assistant",)
    assert answer.state.created_at == at("2026-02-03T08:00:09.5")
    assert answer.state.session == "22222222-cccc-4000-8000-000000000001"
    assert memory.get("claude:22222222-0000-4000-8000-000000000001").state.tags == ("user",)
    assert done.skipped == {"attached file": 1, "message without text": 1}


def test_a_zip_archive_and_its_folder_are_the_same_export(open_memory: Open, tmp_path: Path):
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(SAMPLES / "chatgpt" / "conversations.json", "deep/conversations.json")
        file.writestr("chat.html", "<html>")
    zipped, folder = open_memory("zipped"), open_memory("folder")
    assert zipped.import_(archive).format == "chatgpt"
    folder.import_(SAMPLES / "chatgpt")
    assert told(zipped) == told(folder) != {}
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as file:
        file.writestr("readme.txt", "nothing")
    with pytest.raises(InvalidInput, match=r"holds no conversations\*\.json"):
        zipped.import_(tmp_path / "empty.zip", format="claude")


def test_claude_code_takes_what_was_said_once_even_if_a_resumed_session_repeats_it(memory: Memory):
    done = memory.import_(SAMPLES / "claude-code")
    names = {id_.rsplit("-", 1)[1]: memo for id_, memo in ((m.id, m) for m in memory.memories())}
    assert done.format == "claude-code"
    assert sorted(names) == [f"{n:012}" for n in (2, 4, 8, 9)]
    first = memory.get("claude-code:33333333-1111-4000-8000-000000000002")
    assert first.content == "Add a discount of 10 % for orders over five tins"
    assert first.state.session == "33333333-0000-4000-8000-000000000001"
    assert first.state.project == "tea-shop"
    assert first.state.tags == ("user",)
    assert first.state.created_at == at("2026-03-05T09:00:10.125")
    summary = memory.get("claude-code:summary-33333333-1111-4000-8000-000000000008")
    assert summary.state.kind == "summary"
    assert done.skipped["the same id again"] == 1
    assert done.skipped["thinking block"] == done.skipped["tool_use block"] == 1
    assert done.skipped["work of a subagent"] == 1


def test_claude_code_leaves_errors_of_the_api_out_and_counts_them(memory: Memory, tmp_path: Path):
    entry = {"type": "assistant", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z"}
    said = {"role": "assistant", "content": [{"type": "text", "text": "API Error: 529 overloaded"}]}
    lines = [
        {**entry, "uuid": "u1", "message": said, "isApiErrorMessage": True},
        {**entry, "uuid": "u2", "message": said, "isApiErrorMessage": False},
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    done = memory.import_(tmp_path / "s.jsonl")
    assert (list(told(memory)), done.skipped) == (["claude-code:u2"], {"error of the API": 1})


def test_claude_code_includes_what_it_is_asked_to(memory: Memory):
    done = memory.import_(SAMPLES / "claude-code", include=["thinking", "tools", "sidechains"])
    texts = told(memory).values()
    assert done.remembered == 5 + 4
    assert "Look at the cart first." in texts
    assert 'Read {"file_path":"/home/ada/tea-shop/cart.py"}' in texts
    with pytest.raises(InvalidInput, match="'everything' cannot be included"):
        memory.import_(SAMPLES / "claude-code", include=["everything"])


# --- stores of other programs ----------------------------------------------------------------------


def test_the_sample_of_mem0_is_made_from_its_sql():
    with sqlite3.connect(":memory:") as made, sqlite3.connect(SAMPLES / "mem0" / "history.db") as kept:
        made.executescript((SAMPLES / "mem0" / "history.sql").read_text("utf-8"))
        assert list(kept.iterdump()) == list(made.iterdump())
    made.close()
    kept.close()


def test_mem0_is_replayed_with_revisions_deletes_and_times(memory: Memory):
    done = memory.import_(SAMPLES / "mem0" / "history.db")
    assert (done.remembered, done.revised, done.forgotten) == (2, 1, 1)
    tea = memory.get("mem0:44444444-aaaa-4000-8000-000000000001")
    assert tea.content == "Likes green tea, but not after noon"
    assert (tea.state.tags, tea.state.entities) == (("user",), ("ada",))
    assert tea.state.created_at == at("2026-01-10T09:00:00-08:00")
    assert tea.state.updated_at == at("2026-01-12T20:30:00-08:00")
    assert [h.type for h in memory.history(tea.id)] == ["memory.ingested", "memory.revised"]
    assert (
        memory.get("mem0:44444444-aaaa-4000-8000-000000000002").hidden_because == "forgotten: deleted in mem0"
    )


def test_older_histories_of_mem0_are_read_as_well(memory: Memory, tmp_path: Path):
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE history (id, memory_id, prev_value, new_value, event, timestamp, is_deleted)"
        )
        database.executemany(
            "INSERT INTO history VALUES (?, 'm', ?, ?, ?, ?, 0)",
            [
                ("1", None, "first", "ADD", "2024-07-01T00:00:00+00:00"),
                ("2", "first", "second", "UPDATE", "2024-07-02T00:00:00+00:00"),
                ("3", "second", "", "UPDATE", "2024-07-03T00:00:00+00:00"),
                ("4", None, "x", "NONE", None),
            ],
        )
    database.close()
    done = memory.import_(path)
    assert memory.get("mem0:m").content == "second"
    assert memory.get("mem0:m").state.created_at == at("2024-07-01")
    assert done.skipped == {"cannot be read": 1, "event without effect (NONE)": 1}
    assert done.problems[0].where == "history row 3"


def test_mem0_is_read_with_its_unfinished_journal_and_left_untouched(memory: Memory, tmp_path: Path):
    shutil.copy(SAMPLES / "mem0" / "history.db", tmp_path / "history.db")
    writer = sqlite3.connect(tmp_path / "history.db")
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute(
        "INSERT INTO history (id, memory_id, new_memory, event) VALUES ('z', 'new', 'in the journal', 'ADD')"
    )
    writer.commit()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert before["history.db-wal"]
    memory.import_(tmp_path / "history.db")
    assert memory.get("mem0:new").content == "in the journal"
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert after == before
    writer.close()


def history_of_mem0(folder: Path, columns: str, rows: list[tuple[str | None, ...]], **same: str) -> Path:
    """A history database with these rows; what is the same in all of them is named."""
    marks = ", ".join(["?"] * (len(rows[0]) + len(same)))
    with sqlite3.connect(folder / "history.db") as database:
        database.execute(f"CREATE TABLE history ({', '.join([columns, *same])})")
        database.executemany(
            f"INSERT INTO history VALUES ({marks})", [(*row, *same.values()) for row in rows]
        )
    database.close()
    return folder / "history.db"


def test_a_history_that_begins_in_the_middle_or_deletes_the_unknown_is_taken_as_far_as_it_goes(
    memory: Memory, tmp_path: Path
):
    changes = [("a", None, "DELETE"), ("a", "back", "UPDATE"), ("b", "gone", "ADD"), ("b", None, "DELETE"), ("b", "again", "ADD")]  # fmt: skip
    path = history_of_mem0(tmp_path, "memory_id, new_memory, event", changes, created_at="2026-01-01")
    done = memory.import_(path)
    assert told(memory) == {"mem0:a": "back", "mem0:b": "again"}
    assert done.skipped == {"delete of a memory that is not there": 1}
    assert memory.import_(path).events == 0


def test_an_update_of_mem0_without_its_add_is_as_old_as_the_update_if_nothing_else_is_known(
    memory: Memory, tmp_path: Path
):
    rows = [("a", "text", "UPDATE", None), ("b", "text", "UPDATE", "2026-01-01")]
    path = history_of_mem0(
        tmp_path, "memory_id, new_memory, event, created_at", rows, updated_at="2026-02-01"
    )
    memory.import_(path)
    assert memory.get("mem0:a").state.created_at == at("2026-02-01")
    assert memory.get("mem0:b").state.created_at == at("2026-01-01")


def test_basic_memory_notes_observations_and_relations(memory: Memory):
    done = memory.import_(SAMPLES / "basic-memory")
    assert (done.format, done.remembered, done.linked) == ("basic-memory", 6, 7)
    note = memory.get("basic-memory:brewing/green-tea")
    assert note.content.startswith("# Green Tea\n\nSteeped short")
    assert "75 °C" not in note.content
    assert "- [ ] buy more" in note.content
    assert note.state.tags == ("brewing", "tea")
    assert note.state.created_at == at("2026-01-05T09:00:00")
    method = next(m for m in memory.memories() if m.state.kind == "method")
    assert method.content == "Water of 75 °C keeps it sweet #temperature (from the leaflet)"
    assert method.state.entities == ("Green Tea",)
    assert "temperature" in method.state.tags
    kettle, mochi = "basic-memory:kettles/cast-iron-kettle", "basic-memory:mochi"
    assert {
        (note.id, "pairs_with", mochi), (note.id, "brewed_in", kettle), (note.id, "links_to", kettle),
        (mochi, "links_to", note.id), (method.id, "observation_of", note.id),
    } <= edges(memory)  # fmt: skip
    assert done.skipped == {"link to a note that is not here": 1}


@pytest.mark.parametrize("tags", ["", "no", "0", "''", "[]"])
def test_a_note_whose_tags_are_said_to_be_none_has_none(memory: Memory, tmp_path: Path, tags: str):
    (tmp_path / "note.md").write_text(f"---\ntitle: Note\ntags: {tags}\n---\nhello\n", "utf-8")
    memory.import_(tmp_path, format="basic-memory")
    assert memory.get("basic-memory:note").state.tags == ()


def test_a_line_that_only_looks_like_an_observation_or_relation_stays_text(memory: Memory, tmp_path: Path):
    (tmp_path / "other.md").write_text("---\ntitle: Other\n---\nhello\n", "utf-8")
    (tmp_path / "note.md").write_text(
        "---\ntitle: Note\n---\n"
        "- [x] done\n- [00:01:02] spoken\n- see also [[Other]] for more\n- 'goes with' [[Other]]\n"
        "```\n- [code] not an observation [[Other]]\n```\n- [fact] one #a#b\n",
        "utf-8",
    )
    memory.import_(tmp_path)
    content = memory.get("basic-memory:note").content
    for line in (
        "- [x] done",
        "- [00:01:02] spoken",
        "- see also [[Other]] for more",
        "- [code] not an observation",
    ):
        assert line in content
    assert {m.state.kind for m in memory.memories()} == {"note", "fact"}
    kinds = {kind for a, kind, _ in edges(memory) if a == "basic-memory:note"}
    assert kinds == {"links_to", "goes with"}


def test_front_matter_that_is_broken_or_a_file_that_is_not_text_is_said_and_the_rest_goes_on(
    memory: Memory, tmp_path: Path
):
    (tmp_path / "a.md").write_text("---\ntitle: [unclosed\n---\nstill here\n", "utf-8")
    (tmp_path / "b.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "c.md").write_text("---\ncreated: soon\n---\nx", "utf-8")
    done = memory.import_(tmp_path)
    assert "still here" in memory.get("basic-memory:a").content
    assert done.notes == ("a.md: its front matter is not YAML and stays in the text",)
    assert {(p.where, p.reason.split(":")[0]) for p in done.problems} == {
        ("b.md", "not UTF-8 text"),
        ("c.md", "created"),
    }


# --- telling them apart ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "found"),
    [
        ("chatgpt/conversations.json", "chatgpt"),
        ("claude/conversations.json", "claude"),
        ("claude-code", "claude-code"),
        ("mem0/history.db", "mem0"),
        ("basic-memory", "basic-memory"),
        ("basic-memory/mochi.md", "basic-memory"),
        ("tables/tea.csv", "csv"),
        ("tables/notes.jsonl", "jsonl"),
    ],
)
def test_the_format_shows_from_the_content_whatever_the_name(
    memory: Memory, tmp_path: Path, sample: str, found: str
):
    source = SAMPLES / sample
    assert (
        memory.import_(source, dry_run=True, mapping="content=body" if found == "csv" else "").format == found
    )
    if source.is_file() and found not in ("csv", "basic-memory"):
        shutil.copy(source, tmp_path / "file.bin")
        assert memory.import_(tmp_path / "file.bin", dry_run=True).format == found


def test_a_log_shows_as_a_log_even_if_jsonl_is_asked_for(open_memory: Open, tmp_path: Path):
    memory = open_memory()
    memory.remember("tea")
    memory.export(tmp_path / "log.jsonl")
    copy = open_memory("copy")
    assert copy.import_(tmp_path / "log.jsonl", format="jsonl", dry_run=True).events == 2
    assert copy.status().head == 0
    assert copy.import_(tmp_path / "log.jsonl", format="jsonl").format == "log"
    assert copy.status().head == 2


def test_an_unknown_format_is_refused_with_the_choices(memory: Memory, tmp_path: Path):
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "words.txt").write_text("some words\n", "utf-8")
    with pytest.raises(NotImportable, match=r"cannot tell what .*none is; say it with --from \(log, jsonl"):
        memory.import_(tmp_path / "none")
    for name, data in (
        ("a.json", b"[1, 2]"),
        ("b.txt", b"some words\n"),
        ("c.db", b"SQLite format 3\x00junk"),
        ("d", b""),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises((NotImportable, InvalidInput)):
            memory.import_(tmp_path / name)
    with pytest.raises(InvalidInput, match="'msn' is not a format; there are log"):
        memory.import_(tmp_path / "a.json", format="msn")
    with pytest.raises(InvalidInput, match="a mapping is for jsonl and csv"):
        memory.import_(SAMPLES / "claude", mapping="content=x")
    assert memory.status().head == 0


def test_a_file_that_ends_in_the_middle_says_so_and_what_to_do(memory: Memory, tmp_path: Path):
    whole = (SAMPLES / "chatgpt" / "conversations.json").read_bytes()
    (tmp_path / "conversations.json").write_bytes(whole[:-200])
    with pytest.raises(InvalidInput, match=r"conversations\.json is not whole or not JSON"):
        memory.import_(tmp_path / "conversations.json")
    memory.import_(SAMPLES / "chatgpt")
    assert len(memory.memories()) == 6


def test_conversations_with_nothing_as_expected_are_problems_not_crashes(memory: Memory, tmp_path: Path):
    odd: list[object] = [
        {"mapping": {}, "id": "c1"}, {"mapping": None}, 7, {"mapping": {"a": 3, "b": {"message": "x"}}, "id": "c2"},
        {"mapping": {"a": {"message": {"author": {"role": "user"}, "create_time": "soon",
         "content": {"content_type": "text", "parts": ["hi"]}}, "parent": "a"}}, "id": "c3", "current_node": "a"},
        {"mapping": {"s": {"message": {"author": {"role": "user"}, "create_time": 1e9,
         "content": {"content_type": "text", "parts": ["\ud800"]}}}}, "id": "c4"},
    ]  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps(odd), "utf-8")
    done = memory.import_(tmp_path / "c.json", format="chatgpt")
    assert done.remembered == 0
    assert done.skipped["cannot be read"] == 4
    assert any("lone surrogate" in problem.reason for problem in done.problems)
    with pytest.raises(InvalidInput, match="without a mapping or an id"):
        memory.import_(tmp_path / "c.json", format="chatgpt", strict=True)
