"""A watched folder with what was made to do harm: nothing waits, nothing hangs, and the good notes are kept."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from test_chunks import pdf_of

from recollect.interfaces.folders import pdf, reading
from recollect.interfaces.folders.chunk import Unreadable
from recollect.interfaces.folders.formats import chunks_of
from recollect.interfaces.folders.scan import stamp_of
from recollect.interfaces.python.memory import Memory


def test_links_pipes_and_sockets_are_skipped_and_counted(memory: Memory, tmp_path: Path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nall is well", "utf-8")
    (folder / "deep.md").write_text("---\na: " + "[" * 5_000 + "\n---\ntext", "utf-8")
    (folder / "toml.md").write_text("+++\na" + ".a" * 5_000 + " = 1\n+++\ntext", "utf-8")
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / ".gitignore")
    (folder / "circle").symlink_to(folder)
    (folder / "zero.md").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.md"))
    report = memory.watch(folder, once=True)
    assert report.ingested == 1
    assert report.skipped == {"not a regular file": 3, "symbolic link": 2}
    assert {trouble.path.rpartition("/")[2]: trouble.reason for trouble in report.quarantined} == {
        "deep.md": "front matter is nested more than 32 deep",
        "toml.md": "front matter is not TOML: line 1 has more than 500 dots",
    }


def test_a_file_replaced_by_a_pipe_before_it_is_read_is_not_waited_for(tmp_path: Path):
    looks = {}
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("text", "utf-8")
        looks[name] = stamp_of((tmp_path / name).lstat())
    (tmp_path / "b.md").unlink()
    os.mkfifo(tmp_path / "b.md")
    found = reading.read_all(
        str(tmp_path), looks, reading.Timing(settle_s=0.0), max_bytes=1_000, progress=None
    )
    assert set(found.taken) == {"a.md"}
    assert found.failed == {"b.md": "not a regular file"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "# " + " " * 400_000 + "x"),
        ("a.md", "# " + " #" * 200_000 + "x"),
        ("a.org", "* " + " " * 400_000 + "x"),
        ("a.org", "#+TITLE: " + " " * 400_000 + "x\ntext"),
        ("a.org", "* " + "TODO " * 200_000 + "x"),
        ("a.c", "a(" * 200_000 + ";"),
    ],
)
def test_a_long_line_is_read_in_the_time_of_its_length(name: str, text: str):
    assert chunks_of(name, text.encode())


def test_a_pdf_has_a_budget_of_pages_characters_and_seconds(monkeypatch: pytest.MonkeyPatch):
    data = pdf_of("First page", "Second page", "Third page")
    for limit, value, said in (
        ("PAGES_MAX", 2, "more than 2 pages"),
        ("CHARACTERS_MAX", 15, "more than 15 characters"),
        ("SECONDS_MAX", -1, "take longer than -1 s"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(pdf, limit, value)
            with pytest.raises(Unreadable, match=said):
                chunks_of("paper.pdf", data)
    assert len(chunks_of("paper.pdf", data)) == 3


def test_numbers_in_front_matter_that_cannot_be_written_out_make_the_note_unreadable():
    with pytest.raises(Unreadable, match="thousands of digits"):
        chunks_of("a.md", b"---\ntitle: 0x" + b"f" * 5_000 + b"\n---\ntext")


def _harm(path: Path, kind: str) -> None:
    """Put something that is no file in the place of one."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name if kind == "loop" else kind)


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "loop", "nowhere", "folder"])
@pytest.mark.parametrize("ending", ["looks", "lock"])
def test_what_stands_in_the_place_of_a_cache_file_is_made_anew_or_refused_in_one_line(
    tmp_path: Path, ending: str, kind: str
):
    folder, store = tmp_path / "notes", tmp_path / "s"
    folder.mkdir()
    (folder / "good.md").write_text("# Good\n\nall is well", "utf-8")
    command = [sys.executable, "-m", "recollect", "watch", str(folder), "--once", "--store", str(store)]
    command += ["--embedder", "hash"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    (file,) = (store / "cache" / "folders").glob(f"*.{ending}")
    _harm(file, kind)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if ending == "looks" and kind != "folder":
        assert done.returncode == 0, done.stderr
        assert file.is_file()
        assert not file.is_symlink()
    else:
        assert done.returncode == 2
        assert f"{file} is " in done.stderr
        assert "remove it" in done.stderr
        assert done.stderr.count("\n") == 1
