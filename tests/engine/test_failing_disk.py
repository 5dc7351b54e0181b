"""A store whose disk fails while it is open: reading goes on, recalls are answered, and writing goes on when it can."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from small_disk import small_disk

from recollect.engine.doctor import doctor
from recollect.events.disk import RealDisk
from recollect.events.errors import LogFailed
from recollect.events.head import HeadFile
from recollect.events.packs.object_store import ObjectPackStore
from recollect.events.packs.store import StoreUnreachable
from recollect.events.private_files import sync_directory
from recollect.interfaces.cli.app import clear_errors, main
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


@contextmanager
def failing(*calls: str, number: int = errno.EROFS) -> Iterator[None]:
    """These calls of the log's disk fail."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patch:
        for call in calls:
            patch.setattr(RealDisk, call, fail)
        yield


@pytest.mark.parametrize("calls", [("write",), ("sync",), ("write", "sync", "truncate", "create", "remove")])
@pytest.mark.parametrize("number", [errno.EROFS, errno.EIO, errno.ENOSPC], ids=["EROFS", "EIO", "ENOSPC"])
def test_an_open_store_answers_while_its_disk_fails_and_writes_again_after(
    open_memory: Open, tmp_path: Path, calls: tuple[str, ...], number: int
):
    memory, other = open_memory(), open_memory()
    memory.remember("green tea", id="green")
    memory.recall("tea")
    with failing(*calls, number=number):
        for _ in range(2):
            with pytest.raises(LogFailed, match=os.strerror(number)):
                memory.remember("black tea", id="black")
            answer = memory.recall("green tea", track=False)
            assert [hit.id for hit in answer.hits] == ["green"]
        assert memory.status().degraded[0].startswith("the last write failed: ")
    assert other.remember("white tea", id="white") == "white"
    assert {memo.id for memo in memory.memories()} >= {"green", "white"}
    assert memory.remember("red tea", id="red") == "red"
    assert memory.recall("red tea").id is not None
    assert memory.status().degraded == ()
    assert memory.verify().exact
    memory.close()
    assert {memo.id for memo in other.memories()} >= {"green", "white", "red"}
    assert doctor(tmp_path / "store").healthy


def test_a_recall_whose_recording_fails_is_answered_and_says_why(open_memory: Open):
    memory = open_memory()
    memory.remember("green tea", id="green")
    expected = memory.recall("green tea", record=False, now="2030-01-01").hits
    with failing("write", number=errno.ENOSPC):
        answer = memory.recall("green tea", now="2030-01-01")
    assert (answer.id, answer.hits) == (None, expected)
    (note,) = answer.degraded
    assert note.startswith("this recall was not recorded: ")
    assert "No space left on device" in note
    assert memory.recall("green tea").degraded == ()


def test_a_mark_that_failed_is_told_until_one_succeeds(open_memory: Open):
    memory = open_memory()
    memory.remember("green tea")
    with failing("sync"):
        memory.store.log.base._writer.mark()
    assert any("the head file" in line for line in memory.status().degraded)
    memory.store.log.base._writer.mark()
    assert memory.status().degraded == ()


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--store", str(folder), "--embedder", "hash"])


def test_commands_on_a_file_system_that_went_read_only_read_and_say_why_they_do_not_write(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        store = disk.path / "store"
        assert run(store, "remember", "green tea", "--id", "green").exit_code == 0
        disk.mount_for_reading()
        asked, told, read = (
            run(store, "recall", "tea"),
            run(store, "remember", "more"),
            run(store, "get", "green"),
        )
        assert (asked.exit_code, told.exit_code, read.exit_code) == (0, 2, 0)
        assert "green tea" in asked.stdout
        assert "not recorded" in asked.stdout
        assert [line for line in told.stderr.splitlines() if "read-only" in line] == told.stderr.splitlines()


def test_what_a_full_disk_refuses_is_named_in_one_line_with_what_to_do(tmp_path: Path):
    assert run(tmp_path / "store", "remember", "green tea").exit_code == 0
    with small_disk(tmp_path / "disk") as disk:
        (disk.path / "pages").mkdir()
        disk.fill()
        for arguments in (["export", "x.jsonl"], ["export", "pages", "--format", "markdown"]):
            named = disk.path / arguments[1]
            done = run(tmp_path / "store", arguments[0], str(named), *arguments[2:])
            assert done.exit_code == 2
            (line,) = done.stderr.splitlines()
            assert line.startswith(f"recollect: {disk.path}/")
            assert line.endswith("; make room there and run it again")
        packs = ObjectPackStore(f"file://{disk.path}/packs")
        with pytest.raises(StoreUnreachable) as refused:
            packs.put_blob(b"x" * 10_000)
        packs.close()
    said = str(refused.value)
    assert "\n" not in said
    assert said.endswith("; make room there and run it again")
    assert f"{disk.path}/packs" in said


def test_an_error_of_the_disk_that_names_no_file_is_told_with_the_command():
    def export() -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    result = CliRunner().invoke(click.command("export")(clear_errors(export)))
    assert (result.exit_code, result.stderr) == (2, "recollect: export failed: Read-only file system\n")


def test_what_others_wrote_and_cannot_be_read_is_said_by_recalls_and_by_verify(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    memory, other = open_memory(), open_memory()
    memory.remember("green tea", id="green")
    head = memory.status().head
    other.remember("white tea", id="white")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(HeadFile, "published", fail)
        answer = memory.recall("tea", track=False)
        assert [hit.id for hit in answer.hits] == ["green"]
        said = dict(zip(answer.degraded_kinds, answer.degraded, strict=True))["behind"]
        assert f"what others wrote after @{head} is missing" in said
        assert said in memory.verify().notes
    assert "behind" not in memory.recall("tea").degraded_kinds
    assert memory.verify().notes == ()


@pytest.mark.parametrize(
    ("call", "act"),
    [
        ("pread", lambda disk, file, _: disk.read(file, 1, 0)),
        ("pwrite", lambda disk, file, _: disk.write(file, b"x", 0)),
        ("fdatasync", lambda disk, file, _: disk.sync(file)),
        ("fsync", lambda _disk, _file, path: sync_directory(path)),
    ],
)
def test_an_error_of_the_disk_names_its_file_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, act: Callable[[RealDisk, int, Path], object]
):
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path, disk = tmp_path / "a.seg", RealDisk()
    file = disk.create(path)
    named = tmp_path if call == "fsync" else path

    def failed() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            act(disk, file, named)

    result = CliRunner().invoke(click.command("sync")(clear_errors(failed)))
    disk.close(file)
    assert result.stderr.startswith(
        f"recollect: {named}: Input/output error; the disk failed to read or write it"
    )
    assert "`recollect doctor`" in result.stderr
