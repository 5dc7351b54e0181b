"""A file that the user names is written whole, for its owner, and over no other's work: reports, receipts, checkpoints."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.events.errors import InvalidInput
from recollect.events.private_files import naming
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

RECALL = "r4"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "s", embedder="hash") as memory:
        memory.remember("sessions are in Postgres", id="pg")
        recall = memory.recall("where are sessions?").id
        assert recall == RECALL
        memory.expect(recall, "pg", first=True)
    return tmp_path / "s"


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    return done.exit_code, done.output


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (folder / "log").iterdir()}


WRITERS = (
    ("check", "--junit"),
    ("checkpoint", "--out"),
    ("erase", "pg", "--yes", "--receipt"),
    ("compare", "omega", "--html"),
    ("export",),
    ("fixture", RECALL, "--out"),
)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer[0])
def test_no_command_writes_into_a_store(writer: tuple[str, ...], store: Path, tmp_path: Path):
    with Memory.open(tmp_path / "other", embedder="hash") as memory:
        memory.remember("another store", id="o")
    segment = next((store / "log").glob("*.seg"))
    (tmp_path / "link").symlink_to(segment)
    before = content(store), content(tmp_path / "other")
    targets = (
        segment, tmp_path / "link", store / "log" / "new.jsonl", store / "new.jsonl",
        next((tmp_path / "other" / "log").glob("*.seg")), tmp_path / "other" / "cache" / "new.jsonl",
    )  # fmt: skip
    for target in targets:
        there = target.exists()
        status, said = run(*writer, target, "--store", store, "--embedder", "hash")
        assert (status, "Traceback" in said) == (2, False), (target, said)
        assert target.exists() == there
    assert (content(store), content(tmp_path / "other")) == before


@pytest.mark.parametrize("writer", WRITERS[:5], ids=lambda writer: writer[0])
def test_what_is_no_file_of_ours_is_left_as_it_is(writer: tuple[str, ...], store: Path, tmp_path: Path):
    (tmp_path / "mine.jsonl").write_text("my own work")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "mine.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("mine.jsonl", "link.jsonl", "pipe.jsonl"):
        status, said = run(*writer, tmp_path / name, "--store", store, "--embedder", "hash")
        assert (status, "Traceback" in said) == (2, False), (name, said)
    assert (tmp_path / "mine.jsonl").read_text() == "my own work"
    assert (tmp_path / "pipe.jsonl").is_fifo()


@pytest.mark.parametrize("writer", WRITERS[:5], ids=lambda writer: writer[0])
def test_it_is_for_its_owner_alone_and_no_debris_is_left(
    writer: tuple[str, ...], store: Path, tmp_path: Path, open_umask: None
):
    target = tmp_path / "out" / "new.jsonl"
    status, said = run(*writer, target, "--store", store, "--embedder", "hash")
    assert status == 0, said
    assert [path.name for path in target.parent.iterdir()] == ["new.jsonl"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_fixture_is_for_its_owner_alone(store: Path, tmp_path: Path, open_umask: None):
    status, said = run("fixture", RECALL, "--out", tmp_path / "fixed", "--store", store)
    assert status == 0, said
    for path in (tmp_path / "fixed", *(tmp_path / "fixed").rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_check_replaces_the_report_of_an_earlier_one_and_another_file_only_if_told(
    store: Path, tmp_path: Path
):
    report = tmp_path / "report.xml"
    with Memory.open(store, embedder="hash") as memory:
        memory.check(junit=report)
        first = report.read_bytes()
        memory.forget("pg")
        memory.check(junit=report)
        assert report.read_bytes() != first
        report.write_text("<testsuite name='mine'/>")
        with pytest.raises(InvalidInput, match="--overwrite"):
            memory.check(junit=report)
        memory.check(junit=report, overwrite=True)
    assert b'name="recollect check"' in report.read_bytes()
    assert run("check", "--junit", report, "--store", store)[0] == 1
    report.write_text("mine")
    assert run("check", "--junit", report, "--overwrite", "--store", store)[0] == 1


def test_an_error_of_a_write_names_the_file(tmp_path: Path):
    with pytest.raises(OSError, match="somewhere") as found, naming(tmp_path / "somewhere"):
        raise OSError(28, "No space left on device")
    assert found.value.filename == str(tmp_path / "somewhere")
