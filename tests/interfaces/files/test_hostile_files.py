"""Files that were made to do harm, or only look odd: named in the report, never waited for, and the rest goes on."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.events import regular_files
from recollect.events.errors import InvalidInput
from recollect.interfaces.common.yaml_block import Refused, load_yaml
from recollect.interfaces.files import csv_rows, input_streams
from recollect.interfaces.python.memory import Memory

BOMB = "\n".join(
    ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
)

MERGES = "\n".join(
    ["m0: &m0 {x: 1}", *(f"m{n}: &m{n}\n  <<: [{', '.join([f'*m{n - 1}'] * 20)}]" for n in range(1, 9))]
)


@pytest.fixture
def special(tmp_path: Path) -> Path:
    """A folder with one good note among a FIFO, a socket, links out of it, in a circle, and to a device."""
    folder = tmp_path / "notes"
    folder.mkdir()
    secret = tmp_path / "secret.md"
    secret.write_text("the secret outside", "utf-8")
    (folder / "good.md").write_text("---\ntitle: Good\n---\nall is well", "utf-8")
    os.mkfifo(folder / "pipe.md")
    (folder / "outside.md").symlink_to(secret)
    (folder / "circle").symlink_to(folder)
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "gone.md").symlink_to(folder / "nowhere")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.md"))
    return folder


def test_an_import_leaves_out_links_and_special_files_and_names_them(memory: Memory, special: Path):
    done = memory.import_(special)
    assert [memo.content for memo in memory.memories()] == ["# Good\n\nall is well"]
    assert done.skipped == {"not a regular file": 2, "symbolic link": 4}
    assert {problem.where: problem.reason for problem in done.problems} == {
        "pipe.md": "not a regular file", "socket.md": "not a regular file", "circle": "symbolic link",
        "gone.md": "symbolic link", "outside.md": "symbolic link", "zero.md": "symbolic link",
    }  # fmt: skip


@pytest.mark.parametrize("format_", [None, "jsonl", "csv", "claude-code", "chatgpt", "mem0", "basic-memory"])
def test_a_named_pipe_or_device_is_refused_at_once(memory: Memory, tmp_path: Path, format_: str | None):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InvalidInput, match="not a regular file"):
            memory.import_(path, format=format_)


def test_a_file_that_the_user_names_may_be_a_link(memory: Memory, tmp_path: Path):
    (tmp_path / "real.jsonl").write_text('{"content": "by a link"}\n', "utf-8")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    assert memory.import_(tmp_path / "link.jsonl").remembered == 1


class Failing(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, _: object) -> int:
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("archived", [False, True])
def test_conversations_that_the_disk_does_not_give_are_refused_by_name(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, archived: bool
):
    file = tmp_path / "conversations.json"
    file.write_text('[{"uuid": "c", "chat_messages": []}]', "utf-8")
    if archived:
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            archive.write(file, file.name)
        file.unlink()
        file = tmp_path / "export.zip"
    monkeypatch.setattr(input_streams, "counted", lambda *_: Failing())
    with pytest.raises(InvalidInput, match="cannot be read: Input/output error"):
        memory.import_(file, format="claude")


@pytest.mark.parametrize("swap", ["pipe", "link", "nothing"])
def test_a_file_that_is_replaced_before_it_is_opened_is_not_waited_for(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: str
):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text(f"---\ntitle: {name}\n---\ntext of {name}", "utf-8")
    found, victim = input_streams.files_under(tmp_path, "*.md"), tmp_path / "b.md"
    victim.unlink()
    if swap == "pipe":
        os.mkfifo(victim)
    elif swap == "link":
        victim.symlink_to("/etc/passwd")
    monkeypatch.setattr("recollect.interfaces.files.basic_memory.files_under", lambda *_, **__: found)
    done = memory.import_(tmp_path, format="basic-memory")
    assert done.remembered == 2
    assert [problem.where for problem in done.problems] == ["b.md"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (f"{BOMB}\ntags: *a29", "aliases that stand for more than 10,000 values"),
        (f"{BOMB}\ntitle: *a29", "aliases that stand for more than 10,000 values"),
        (MERGES, "aliases that stand for more than 10,000 values"),
        ("a: &a [*a]", "holds itself"),
        ("a: " + "[" * 5_000, "nested more than 32 deep"),
        ("a:\n" + "\n".join("  " * n + "- a:" for n in range(1, 40)), "nested more than 32 deep"),
        ("tags: [0x" + "f" * 5_000 + "]", "thousands of digits"),
        ("title: " + "x" * 1_000_001, "at most 1,000,000 are read"),
    ],
)
def test_front_matter_cannot_take_more_than_its_length_allows(
    memory: Memory, tmp_path: Path, block: str, said: str
):
    (tmp_path / "good.md").write_text("---\ntitle: Good\n---\nall is well", "utf-8")
    (tmp_path / "bad.md").write_text(f"---\n{block}\n---\nthe text stays\n", "utf-8")
    done = memory.import_(tmp_path, format="basic-memory", dry_run=True)
    assert [note for note in done.notes if note.startswith("bad.md: its front matter ") and said in note]
    assert done.read == 2
    ours = memory.import_(tmp_path, format="recollect-markdown", dry_run=True)
    assert any(problem.where == "bad.md" and said in problem.reason for problem in ours.problems)


def test_a_few_aliases_are_read_as_before():
    text = "base: &b {x: [1, 2]}\nmore: {<<: *b, y: 3}\nlist: [*b, *b]"
    assert load_yaml(text, characters_max=1_000) == {
        "base": {"x": [1, 2]}, "more": {"x": [1, 2], "y": 3}, "list": [{"x": [1, 2]}, {"x": [1, 2]}],
    }  # fmt: skip
    with pytest.raises(Refused, match="at most 50 are read"):
        load_yaml(text, characters_max=50)


@pytest.mark.parametrize(
    "line",
    ["# " + " " * 400_000 + "x", "-" + " " * 400_000, "- a" + " " * 400_000 + "b [[x]]", "\n" * 200_000],
)
def test_a_long_line_is_read_in_the_time_of_its_length(memory: Memory, tmp_path: Path, line: str):
    (tmp_path / "a.md").write_text(f"---\ntitle: A\n---\n{line}\nend", "utf-8")
    assert memory.import_(tmp_path, format="basic-memory", dry_run=True).read == 1


def test_a_page_that_is_too_large_is_named_and_the_rest_goes_on(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(input_streams, "PAGE_BYTES_MAX", 100)
    (tmp_path / "large.md").write_text("---\ntitle: A\n---\n" + "x" * 100, "utf-8")
    (tmp_path / "small.md").write_text("---\ntitle: B\n---\nsmall", "utf-8")
    done = memory.import_(tmp_path, format="basic-memory")
    assert done.remembered == 1
    assert [(p.where, p.reason) for p in done.problems] == [("large.md", "over 100 bytes")]


def deep(opening: str, closing: str = "") -> str:
    return opening * 100_000 + closing * 100_000


def test_deep_json_is_one_line_of_the_report(memory: Memory, tmp_path: Path):
    file = tmp_path / "rows.jsonl"
    tags = json.dumps({"content": "tagged", "tags": "[" * 50_000})
    file.write_text(f'{{"content": {deep("[", "]")}}}\n{tags}\n{{"content": "fine"}}\n', "utf-8")
    done = memory.import_(file, format="jsonl")
    assert (done.remembered, done.skipped) == (1, {"cannot be read": 2})
    session = tmp_path / "session.jsonl"
    session.write_text(deep('{"a":') + "\n", "utf-8")
    assert memory.import_(session, format="claude-code").skipped == {"cannot be read": 1}
    for format_ in ("chatgpt", "claude"):
        (tmp_path / "conversations.json").write_text(deep("["), "utf-8")
        with pytest.raises(InvalidInput, match="nested too deeply") as refused:
            memory.import_(tmp_path / "conversations.json", format=format_)
        assert "\n" not in str(refused.value)


def test_a_line_without_an_end_is_cut_and_reported(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(input_streams, "LINE_BYTES_MAX", 1_000)
    file = tmp_path / "rows.jsonl"
    file.write_text('{"content": "' + "x" * 5_000 + '"}\n{"content": "fine"}\n', "utf-8")
    done = memory.import_(file, format="jsonl")
    assert done.remembered == 1
    assert [problem.where for problem in done.problems] == ["line 1"]
    monkeypatch.setattr(csv_rows, "LINE_CHARACTERS_MAX", 1_000)
    table = tmp_path / "rows.csv"
    table.write_text("content\n" + "x" * 5_000 + "\n", "utf-8")
    with pytest.raises(InvalidInput, match="a line of more than 1,000 characters"):
        memory.import_(table)


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(input_streams, "_SMALL_MEMBER_BYTES", 1_000)
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * 1_000_000 + "]")
    with pytest.raises(InvalidInput, match="unpacks to 1,000,002 bytes"):
        memory.import_(path, format="chatgpt")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidInput):
        memory.import_(path, format="chatgpt")


def test_a_history_that_is_no_plain_table_is_refused(memory: Memory, tmp_path: Path):
    path = tmp_path / "history.db"
    database = sqlite3.connect(path)
    database.execute(
        "CREATE VIEW history AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS memory_id, i AS new_memory, 'ADD' AS event FROM n"
    )
    database.commit()
    database.close()
    with pytest.raises(InvalidInput, match="no plain table history"):
        memory.import_(path, format="mem0")


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, lambda path: path.symlink_to("/dev/tty"), lambda path: path.mkdir()],
    ids=["fifo", "tty", "folder"],
)
def test_only_regular_files_are_opened(tmp_path: Path, make: Callable[[Path], None]):
    path = tmp_path / "odd"
    make(path)
    for follow in (True, False):
        with pytest.raises(OSError), regular_files.opened(path, follow=follow):  # noqa: PT011 (whichever it is)
            pass


def test_a_folder_in_the_place_of_a_file_is_refused_by_its_name_and_leaves_nothing_open(tmp_path: Path):
    open_files = Path("/proc/self/fd")
    before = len(list(open_files.iterdir()))
    with pytest.raises(regular_files.Refused) as refused, regular_files.opened(tmp_path):
        pass
    assert refused.value.filename == str(tmp_path)
    assert len(list(open_files.iterdir())) == before
