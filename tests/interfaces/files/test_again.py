"""Importing again: nothing is written twice, only what is new or changed, whatever happened in between."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.engine.store import Store, system_clock
from recollect.events.errors import HeadMoved
from recollect.interfaces.files import import_writer
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
SAMPLES = Path(__file__).parents[2] / "golden" / "foreign"

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: text.strip()
)
chats = st.lists(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts), max_size=4), min_size=1, max_size=3
)
steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE"]), texts), max_size=9
)


@contextmanager
def store(*, clock: Callable[[], int] = lambda: 10**15) -> Iterator[Memory]:
    with Memory.open(":memory:", embedder=None, clock=clock) as memory:
        yield memory


def state(memory: Memory) -> list[tuple[object, ...]]:
    return [
        (m.id, m.content, m.state.kind, m.state.tags, m.state.session, m.state.created_at, m.state.source)
        for m in sorted(memory.memories(), key=lambda m: m.id)
    ]


def chatgpt(folder: Path, chats: list[list[tuple[str, str]]], upto: int = 10**9) -> Path:
    found = []
    for c, turns in enumerate(chats):
        nodes = {"root": {"message": None, "parent": None}}
        for n, (role, text) in enumerate(turns[:upto]):
            nodes[f"{c}-{n}"] = {
                "parent": f"{c}-{n - 1}" if n else "root",
                "message": {
                    "id": f"{c}-{n}", "author": {"role": role}, "create_time": 1e9 + n,
                    "content": {"content_type": "text", "parts": [text]},
                },
            }  # fmt: skip
        found.append(
            {"conversation_id": f"c{c}", "title": "t", "mapping": nodes, "current_node": list(nodes)[-1]}
        )
    path = folder / "conversations.json"
    path.write_text(json.dumps(found), "utf-8")
    return path


def claude_code(folder: Path, chats: list[list[tuple[str, str]]], upto: int = 10**9) -> Path:
    for c, turns in enumerate(chats):
        lines = [
            {"type": role, "uuid": f"{c}-{n}", "sessionId": f"c{c}", "cwd": "/w", "timestamp": f"2026-01-01T00:00:{n:02}Z",
             "message": {"role": role, "content": [{"type": "text", "text": text}]}}
            for n, (role, text) in enumerate(turns[:upto])
        ]  # fmt: skip
        (folder / f"{c}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def plain(folder: Path, chats: list[list[tuple[str, str]]], upto: int = 10**9) -> Path:
    rows = [
        {"id": f"{c}-{n}", "text": text, "role": role, "session": f"c{c}", "at": 1e9 + n}
        for c, turns in enumerate(chats) for n, (role, text) in enumerate(turns[:upto])
    ]  # fmt: skip
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


WRITERS = {"chatgpt": chatgpt, "claude-code": claude_code, "jsonl": plain}


@pytest.mark.parametrize("kind", WRITERS)
@settings(max_examples=25)
@given(chats=chats, upto=st.integers(0, 3))
def test_a_second_import_writes_nothing_and_a_prefix_then_the_whole_is_the_whole(
    kind: str, chats: list[list[tuple[str, str]]], upto: int
):
    write = WRITERS[kind]
    with tempfile.TemporaryDirectory() as name, store() as once, store() as twice:
        folder = Path(name)
        whole = write(folder, chats)
        options = {
            "format": kind,
            "mapping": "content=text,role=role,session=session,id=id,at=at" if kind == "jsonl" else "",
        }
        once.import_(whole, **options)
        head = once.status().head
        again = once.import_(whole, **options)
        assert (again.events, once.status().head) == (0, head)
        twice.import_(write(folder, chats, upto), **options)
        twice.import_(write(folder, chats), **options)
        assert state(twice) == state(once)
        assert twice.status().head == head


@settings(max_examples=25)
@given(steps=steps, upto=st.integers(0, 9))
def test_a_history_replayed_twice_or_in_two_parts_is_the_history(
    steps: list[tuple[int, str, str]], upto: int
):
    rows = [
        (f"h{n}", f"m{m}", text, event, f"2026-01-01T00:00:{n:02}")
        for n, (m, event, text) in enumerate(steps)
    ]
    with tempfile.TemporaryDirectory() as name, store() as once, store() as twice:
        path = Path(name) / "history.db"
        database = sqlite3.connect(path)
        database.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id, new_memory, event, created_at)"
        )
        database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?)", rows[:upto])
        database.commit()
        twice.import_(path)
        database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?)", rows[upto:])
        database.commit()
        database.close()
        twice.import_(path)
        once.import_(path)
        head = once.status().head
        assert once.import_(path).events == 0
        assert once.status().head == head == twice.status().head
        assert state(once) == state(twice)
        last = {m: (event, text) for m, event, text in steps if event != "NONE"}
        born = {m for m, event, _ in steps if event in ("ADD", "UPDATE")}
        expected = {
            f"mem0:m{m}": text for m, (event, text) in last.items() if event != "DELETE" and m in born
        }
        assert {m.id: m.content for m in once.memories()} == expected


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_every_sample_imports_once(memory: Memory, sample: str):
    path = {"mem0": SAMPLES / "mem0" / "history.db", "tables": SAMPLES / "tables" / "notes.jsonl"}.get(
        sample, SAMPLES / sample
    )
    first = memory.import_(path)
    again = memory.import_(path)
    assert first.events > 0
    assert (again.events, again.unchanged) == (0, first.remembered + first.revised + first.forgotten)
    assert (again.head, again.chain) == (first.head, first.chain)


def test_an_edited_message_is_a_revision_and_going_back_another_one(memory: Memory, tmp_path: Path):
    for text in ("hello", "hello there", "hello"):
        done = memory.import_(chatgpt(tmp_path, [[("user", text)]]))
    assert (done.revised, done.remembered) == (1, 0)
    assert memory.get("chatgpt:0-0").content == "hello"
    assert memory.get("chatgpt:0-0").state.revision_count == 1 + 2


def test_a_change_by_the_user_stays_until_the_file_changes(memory: Memory, tmp_path: Path):
    path = plain(tmp_path, [[("user", "one"), ("user", "two"), ("user", "three")]])
    memory.import_(path)
    memory.revise("rows:0-0", "one, by hand", importance=0.9, tags=["mine"])
    memory.forget("rows:0-1")
    memory.supersede("rows:0-2", "rows:0-0")
    head = memory.status().head
    again = memory.import_(path)
    assert (again.events, again.unchanged, memory.status().head) == (0, 3, head)
    done = memory.import_(plain(tmp_path, [[("user", "ONE"), ("user", "TWO"), ("user", "three")]]))
    assert (done.revised, done.skipped) == (1, {"changed in the file, but forgotten here": 1})
    kept = memory.get("rows:0-0")
    assert (kept.content, kept.state.importance, kept.state.tags) == ("ONE", 0.9, ("mine",))
    assert not memory.get("rows:0-1").visible


def test_a_dry_run_says_what_an_import_would_write_and_writes_nothing(open_memory: Open):
    for sample in ("chatgpt", "claude-code", "basic-memory", "mem0/history.db"):
        memory = open_memory(sample.replace("/", "-"))
        would = memory.import_(SAMPLES / sample, dry_run=True)
        assert memory.status().head == 0
        did = memory.import_(SAMPLES / sample)
        assert would.dry_run
        for name in (
            "read",
            "remembered",
            "revised",
            "forgotten",
            "linked",
            "unchanged",
            "skipped",
            "events",
        ):
            assert getattr(would, name) == getattr(did, name)


def rows(path: Path, count: int) -> Path:
    """Wide enough that a file is read in several goes."""
    line = '{{"id": {n}, "text": "memory number {n}", "wide": "{wide}"}}\n'
    path.write_text("".join(line.format(n=n, wide="x" * 500) for n in range(count)), "utf-8")
    return path


def test_ctrl_c_says_what_was_done_and_running_again_completes(open_memory: Open, tmp_path: Path):
    path = rows(tmp_path / "rows.jsonl", 700)
    memory, clean = open_memory(), open_memory("clean")

    def stop(done: int, total: int) -> None:
        if memory.store.log.head > import_writer.BATCH:
            raise KeyboardInterrupt

    with pytest.raises(
        KeyboardInterrupt, match=r"[\d,]+ remembered and 0 revised so far; run it again to go on"
    ):
        memory.import_(path, progress=stop)
    have = len(memory.memories())
    assert 0 < have < 700
    assert have % import_writer.BATCH == 0
    done = memory.import_(path)
    assert (done.unchanged, done.remembered) == (have, 700 - have)
    clean.import_(path)
    assert {m.id: m.content for m in memory.memories()} == {m.id: m.content for m in clean.memories()}


@pytest.mark.parametrize("moment", ["before the append", "after it", "while it is taken in"])
def test_ctrl_c_at_an_append_counts_the_batch_exactly_if_it_was_kept(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
):
    memory, append, appended = open_memory(), Store.append, 0

    def interrupted(store: Store, *arguments: Any, **named: Any) -> list[int]:
        nonlocal appended
        appended += 1
        if appended == 2 and moment == "before the append":
            raise KeyboardInterrupt
        seqs = append(store, *arguments, **named)
        if appended == 2 and moment == "after it":
            raise KeyboardInterrupt
        return seqs

    catch_up = Store.catch_up

    def torn(store: Store, *arguments: Any, **named: Any) -> int:
        if appended == 2 and moment == "while it is taken in":
            monkeypatch.undo()
            raise KeyboardInterrupt
        return catch_up(store, *arguments, **named)

    monkeypatch.setattr(Store, "append", interrupted)
    monkeypatch.setattr(Store, "catch_up", torn)
    kept = import_writer.BATCH * (1 if moment == "before the append" else 2)
    with pytest.raises(KeyboardInterrupt, match=rf"^{kept:,} remembered and 0 revised so far"):
        memory.import_(rows(tmp_path / "rows.jsonl", 3 * import_writer.BATCH))
    monkeypatch.undo()
    assert len(memory.memories()) == kept


def test_killed_in_the_middle_and_run_again_is_one_clean_run(open_memory: Open, tmp_path: Path):
    path = rows(tmp_path / "rows.jsonl", 700)
    script = f"""
import os, signal
from recollect.interfaces.python.memory import Memory
memory = Memory.open({str(tmp_path / "store")!r}, embedder="hash")
def die(done, total):
    if memory.store.log.head > {import_writer.BATCH}:
        os.kill(os.getpid(), signal.SIGKILL)
memory.import_({str(path)!r}, progress=die)
"""
    child = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, timeout=120)
    assert child.returncode == -signal.SIGKILL, child.stderr
    memory, clean = open_memory(clock=system_clock), open_memory("clean")
    have = len(memory.memories())
    assert 0 < have < 700
    assert memory.import_(path).remembered == 700 - have
    clean.import_(path)
    assert {m.id: m.content for m in memory.memories()} == {m.id: m.content for m in clean.memories()}
    assert memory.import_(path).events == 0


def test_another_process_that_writes_meanwhile_only_makes_it_plan_again(open_memory: Open, tmp_path: Path):
    """The other writer imports the same file between planning and writing: nothing is there twice."""
    path = rows(tmp_path / "rows.jsonl", 700)
    memory, other = open_memory(), open_memory()
    real = memory._writer.append
    refused: list[int] = []

    def late(facts: object, *, actor: str, expect: int) -> None:
        if not refused:
            other.import_(path)
        try:
            real(facts, actor=actor, expect=expect)
        except HeadMoved:
            refused.append(expect)
            raise

    memory._writer.append = late
    done = memory.import_(path)
    assert len(refused) == 1
    assert (done.remembered, done.unchanged) == (0, 700)
    assert all(m.state.revision_count == 1 for m in memory.memories())
    assert len(memory.memories()) == 700


def test_progress_counts_the_bytes_of_the_file(memory: Memory):
    path = SAMPLES / "chatgpt" / "conversations.json"
    seen: list[tuple[int, int]] = []
    memory.import_(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_imported_memories_answer_and_can_be_verified(memory: Memory):
    memory.import_(SAMPLES / "chatgpt")
    answer = memory.recall("how hot should the water be for green tea")
    assert answer.hits[0].id in ("chatgpt:aaa3", "chatgpt:aaa5")
    assert memory.verify().exact
