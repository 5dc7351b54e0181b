"""A folder with exports of several programs is read file by file, and what was passed over is said."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from recollect.events.errors import InvalidInput
from recollect.interfaces.cli.app import main
from recollect.interfaces.files import format_detection
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
SAMPLES = Path(__file__).parents[2] / "golden" / "foreign"
ALONE = (
    "chatgpt/conversations.json", "claude/conversations.json", "claude-code", "basic-memory", "mem0/history.db",
    "tables/notes.jsonl",
)  # fmt: skip


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """Every sample in one folder, with a picture and a text that are of no format."""
    folder = tmp_path / "exports"
    for program in ("chatgpt", "claude", "claude-code", "basic-memory"):
        shutil.copytree(SAMPLES / program, folder / program)
    shutil.copy(SAMPLES / "mem0" / "history.db", folder)
    shutil.copy(SAMPLES / "tables" / "notes.jsonl", folder)
    (folder / "cat.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    (folder / "words.txt").write_text("text\nthe word above is no header\n", "utf-8")
    return folder


def told(memory: Memory) -> dict[str, str]:
    return {memo.id: memo.content for memo in memory.memories()}


def test_each_file_is_read_as_what_it_is_with_the_ids_it_has_alone(open_memory: Open, exports: Path):
    memory, alone = open_memory(), open_memory("alone")
    done = memory.import_(exports)
    reports = [alone.import_(SAMPLES / sample) for sample in ALONE]
    # a note without a permalink is known by its path in the folder that was named
    assert all(
        id_.startswith("basic-memory:basic-memory/") for id_ in told(memory).keys() - told(alone).keys()
    )
    assert sorted(told(memory).values()) == sorted(told(alone).values())
    for name in ("read", "remembered", "revised", "forgotten", "linked"):
        assert getattr(done, name) == sum(getattr(report, name) for report in reports)
    assert done.format == "folder"
    assert {(part.path, part.format, part.files) for part in done.parts} == {
        ("chatgpt/conversations.json", "chatgpt", 1), ("claude/conversations.json", "claude", 1),
        ("history.db", "mem0", 1), ("notes.jsonl", "jsonl", 1), (".", "claude-code", 2), (".", "basic-memory", 3),
    }  # fmt: skip
    assert sum(part.read for part in done.parts) == done.read
    assert memory.import_(exports).events == 0


def test_a_file_of_an_unknown_format_is_passed_over_and_reported(memory: Memory, exports: Path):
    done = memory.import_(exports)
    assert done.skipped[format_detection.NO_FORMAT] == 2
    said = {p.where for p in done.problems if p.reason == format_detection.NO_FORMAT}
    assert said == {"cat.png", "words.txt"}


def test_a_file_named_like_the_ending_of_a_journal_is_passed_over_too(memory: Memory, exports: Path):
    (exports / "-wal").write_bytes(b"\x00")
    assert "-wal" in {problem.where for problem in memory.import_(exports).problems}


def test_a_report_can_be_written_as_json_whatever_files_and_their_texts_hold(memory: Memory, exports: Path):
    Path(os.fsdecode(bytes(exports / "odd-") + b"\xff.csv")).write_text("text\nhello\n\n ,x\n")
    role = '{"mapping": {"a": {"message": {"author": {"role": "\\ud800"}}}}, "id": "z", "current_node": "a"}'
    (exports / "odd.json").write_text(f"[{role}]")
    done = memory.import_(exports)
    assert b"odd-" in msgspec.json.encode(done)
    assert "\\ud800 message" in done.skipped


def test_a_program_s_own_folder_is_read_as_that_and_says_what_is_not_its_own(memory: Memory, tmp_path: Path):
    for program in ("claude-code", "basic-memory", "chatgpt"):
        folder = tmp_path / program
        shutil.copytree(SAMPLES / program, folder)
        (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
        done, alone = memory.import_(folder, dry_run=True), memory.import_(SAMPLES / program, dry_run=True)
        assert (done.format, done.read, done.parts) == (program, alone.read, ())
        assert done.skipped == {**alone.skipped, f"not a file of {program}": 1}
        assert done.problems[-1].where == "picture.png"


def test_links_pipes_and_exported_logs_in_a_folder_are_left_out_and_named(
    open_memory: Open, exports: Path, tmp_path: Path
):
    other = open_memory("other")
    other.remember("of another store")
    other.export(exports / "backup.jsonl")
    (tmp_path / "secret.csv").write_text("text\nthe secret outside\n", "utf-8")
    (exports / "outside.csv").symlink_to(tmp_path / "secret.csv")
    os.mkfifo(exports / "pipe.csv")
    memory = open_memory()
    done = memory.import_(exports)
    reasons = {problem.where: problem.reason for problem in done.problems}
    assert reasons["backup.jsonl"] == format_detection.LOG_IN_FOLDER
    assert (reasons["outside.csv"], reasons["pipe.csv"]) == ("symbolic link", "not a regular file")
    assert not {"of another store", "the secret outside"} & set(told(memory).values())


@pytest.mark.parametrize("name", ["notes.jsonl", "history.db", "claude/conversations.json"])
def test_a_file_that_becomes_a_link_before_it_is_read_is_not_followed(
    memory: Memory, exports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    found = format_detection.contents(exports)
    shutil.move(exports / name, tmp_path / "elsewhere")
    (exports / name).symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr("recollect.interfaces.files.import_folder.contents", lambda _: found)
    done = memory.import_(exports, format="folder")
    assert [problem.where for problem in done.problems if "cannot be read" in problem.reason] == [name]
    assert next(part for part in done.parts if part.path == name).read == 1
    assert done.remembered


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_being_read(memory: Memory, exports: Path):
    whole = memory.import_(exports, dry_run=True).remembered
    (exports / "bad.csv").write_text("a,b\n1,2\n", "utf-8")
    (exports / "tea").mkdir()
    (exports / "tea" / "good.csv").write_text("id,text\n1,steeped\n2,\n", "utf-8")
    done = memory.import_(exports)
    assert done.remembered == whole + 1
    assert memory.get("tea-good:1").content == "steeped"
    reasons = {problem.where: problem.reason for problem in done.problems}
    assert reasons["bad.csv"].startswith("no column looks like the content")
    assert reasons["tea/good.csv, line 3"] == "no content in 'text'"
    with pytest.raises(InvalidInput, match=r"^bad\.csv: no column looks like the content"):
        memory.import_(exports, strict=True)


def test_two_tables_never_share_ids(memory: Memory, tmp_path: Path):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "tea.csv").write_text("id,text\n1,from the CSV\n", "utf-8")
    (folder / "tea.jsonl").write_text('{"id": 1, "text": "from the lines"}\n', "utf-8")
    done = memory.import_(folder)
    assert told(memory) == {"tea:1": "from the CSV"}
    assert [problem.where for problem in done.problems] == ["tea.jsonl"]
    assert "ids would be those of tea.csv" in done.problems[0].reason


def test_two_exports_of_the_same_conversations_are_one_and_stay_so(memory: Memory, tmp_path: Path):
    folder = tmp_path / "twice"
    for name in ("new", "old"):
        shutil.copytree(SAMPLES / "claude", folder / name)
    old = folder / "old" / "conversations.json"
    old.write_text(old.read_text("utf-8").replace("tea", "coffee"), "utf-8")
    done = memory.import_(folder)
    assert done.skipped["the same id again"] == done.remembered == done.read // 2
    assert memory.import_(folder).events == 0


def test_a_mapping_and_include_need_a_file_that_takes_them(memory: Memory, tmp_path: Path):
    folder = tmp_path / "chats"
    for program in ("chatgpt", "claude"):
        shutil.copytree(SAMPLES / program, folder / program)
    with pytest.raises(InvalidInput, match="a mapping is for jsonl and csv; this folder holds neither"):
        memory.import_(folder, mapping="content=x")
    with pytest.raises(InvalidInput, match="include is for claude-code; this folder holds none"):
        memory.import_(folder, include=["tools"])
    assert memory.status().head == 0


def test_the_command_says_every_part_and_what_was_passed_over(exports: Path, tmp_path: Path):
    environment = {"RECOLLECT_STORE": str(tmp_path / "store"), "RECOLLECT_EMBEDDER": "hash"}
    done = CliRunner().invoke(main, ["import", str(exports)], env=environment)
    assert done.exit_code == 0
    for line in (
        "  history.db (mem0): 4 read",
        "  3 files (basic-memory): 6 read",
        "cat.png: file of no known format",
    ):
        assert line in done.stdout.splitlines()
    again = CliRunner().invoke(main, ["import", str(exports), "--json"], env=environment)
    report = json.loads(again.stdout)
    assert report["format"] == "folder"
    assert {"path": "history.db", "format": "mem0", "files": 1, "read": 4} in report["parts"]
    assert {"where": "words.txt", "reason": "file of no known format"} in report["problems"]
