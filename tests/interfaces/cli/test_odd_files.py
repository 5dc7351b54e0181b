"""A file, a place or a stream that a person names may be anything: each command says so in one line, and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recollect.engine.validate import CONTENT_BYTES_MAX
from recollect.events import transfer
from recollect.interfaces.cli.app import main
from recollect.interfaces.mcp.session_hooks import said_last
from recollect.interfaces.python.memory import Memory

Place = Callable[[Path], str]
GENEROUS_S = 120


def fifo(folder: Path) -> str:
    os.mkfifo(folder / "odd")
    return str(folder / "odd")


def directory(folder: Path) -> str:
    (folder / "odd").mkdir()
    return str(folder / "odd")


def dangling(folder: Path) -> str:
    (folder / "odd").symlink_to(folder / "nowhere")
    return str(folder / "odd")


def loop(folder: Path) -> str:
    (folder / "odd").symlink_to(folder / "odd")
    return str(folder / "odd")


def sparse(folder: Path) -> str:
    with (folder / "odd").open("wb") as file:
        file.truncate(1 << 31)
    return str(folder / "odd")


def device(_: Path) -> str:
    return "/dev/zero"


def of_no_user(_: Path) -> str:
    return "~nosuchuser/odd"


ODD = (fifo, directory, dangling, loop, sparse, device, of_no_user)


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "store")
    with Memory.open(path, embedder=None) as memory:
        memory.remember("tea is green", id="tea")
        memory.recall("tea")
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def assert_refused_in_a_line(done: Result) -> None:
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    said = [line for line in done.output.splitlines() if not line.startswith(("Usage:", "Try")) and line]
    assert len(said) == 1


@pytest.mark.parametrize("place", ODD)
def test_what_is_no_file_to_be_read_is_refused_in_a_line(store: str, tmp_path: Path, place: Place) -> None:
    odd = place(tmp_path)
    for arguments in (
        ("verify", "--against", odd),
        ("compare", "reverie", "omega", "--queries", odd),
        ("import", odd, "--from", "log"),
        ("dream", "--settings", odd),
    ):
        assert_refused_in_a_line(run(*arguments, "--store", store))
    assert_refused_in_a_line(run("formulas", "check", odd))


@pytest.mark.parametrize("place", ODD)
def test_what_is_no_signing_key_is_refused_in_a_line(
    store: str, tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.setenv("RECOLLECT_SIGNING_KEY", place(tmp_path))
    assert_refused_in_a_line(run("checkpoint", "--store", store))


@pytest.mark.parametrize("place", [fifo, loop, of_no_user])
def test_what_is_no_place_is_refused_in_a_line(store: str, tmp_path: Path, place: Place) -> None:
    odd = place(tmp_path)
    for arguments in (
        ("export", odd, "--format", "jsonl"),
        ("export", odd, "--format", "parquet"),
        ("export", odd, "--format", "markdown"),
        ("checkpoint", "--out", odd),
        ("fork", "--to", odd),
        ("fixture", "r2", "--out", odd),
        ("compare", "reverie", "omega", "--html", odd),
        ("check", "--junit", odd),
        ("doctor", "--salvage", odd),
    ):
        assert_refused_in_a_line(run(*arguments, "--store", store))
    for arguments in (("remember", "tea"), ("status",), ("doctor",)):
        assert_refused_in_a_line(run(*arguments, "--store", odd))


def command(*arguments: str, stdin: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "recollect", *arguments, "--embedder", "none"],
        stdin=stdin, capture_output=True, text=True, timeout=GENEROUS_S, check=False,
    )  # fmt: skip


def test_standard_input_without_an_end_is_no_memory(store: str) -> None:
    with open("/dev/zero", "rb") as endless:  # noqa: PTH123 (a device)
        done = command("remember", "-", "--store", store, stdin=endless.fileno())
    assert done.returncode == 2
    assert done.stderr == (
        f"recollect: standard input has more than {CONTENT_BYTES_MAX:,} bytes; split it, a memory each\n"
    )


def test_a_hook_whose_input_has_no_end_or_never_comes_blocks_no_prompt(store: str) -> None:
    with open("/dev/zero", "rb") as endless:  # noqa: PTH123 (a device)
        done = command("hook", "--store", store, "--timeout", "60", stdin=endless.fileno())
    assert (done.returncode, done.stdout) == (0, "")
    assert f"more than {1 << 25:,} bytes" in done.stderr
    silent, held = os.pipe()
    try:
        done = command("hook", "--store", store, "--timeout", "1", stdin=silent)
    finally:
        os.close(silent)
        os.close(held)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no answer within 1 s" in done.stderr


@pytest.mark.parametrize("place", ODD)
def test_a_transcript_that_is_no_file_says_nothing(tmp_path: Path, place: Place) -> None:
    assert said_last(place(tmp_path)) == ""


def test_a_line_of_an_exported_log_that_is_longer_than_any_event_is_named(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.jsonl"
    assert run("export", str(file), "--store", store).exit_code == 0
    opening, first, *_ = file.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(transfer, "LINE_BYTES_MAX", len(first))
    file.write_bytes(opening + first + b" " * len(first) + first)
    done = run("import", str(file), "--from", "log", "--store", str(tmp_path / "other"))
    assert done.exit_code == 2
    assert f"line 3 is longer than {len(first):,} bytes" in done.output
