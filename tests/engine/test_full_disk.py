"""A full disk after an acknowledged append: what could not be written beside the events is a warning, no error."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.engine import store as stores
from recollect.engine.doctor import doctor
from recollect.events.disk import RealDisk
from recollect.events.head import HeadFile
from recollect.events.segments import INDEX_CACHE
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.projections import checkpoints

Open = Callable[..., Memory]


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def no_room_for_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index that is kept at the close finds no room."""
    opened: set[int] = set()
    open_, write = RealDisk.open, RealDisk.write

    def noting(disk: RealDisk, path: Path, **options: bool) -> int:
        descriptor = open_(disk, path, **options)
        (opened.add if path.name == f"{INDEX_CACHE}.new" else opened.discard)(descriptor)
        return descriptor

    monkeypatch.setattr(RealDisk, "open", noting)
    monkeypatch.setattr(
        RealDisk, "write", lambda disk, at, data, offset: full() if at in opened else write(disk, at, data, offset)
    )  # fmt: skip


@pytest.mark.usefixtures("no_room_for_an_index")
def test_an_index_that_cannot_be_kept_is_a_warning_and_leaves_nothing(
    open_memory: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with open_memory() as memory:
        memory.remember("green tea", id="a")
    ((_, level, said),) = caplog.record_tuples
    assert level == logging.WARNING
    assert INDEX_CACHE in said
    assert "No space left" in said
    assert not list((tmp_path / "store/log").glob("*.new"))
    assert open_memory().get("a").content == "green tea"


@pytest.mark.usefixtures("no_room_for_an_index")
def test_a_command_whose_event_was_acknowledged_succeeds_and_warns_on_stderr(tmp_path: Path):
    done = CliRunner().invoke(
        main, ["remember", "green tea", "--id", "b", "--store", str(tmp_path / "store"), "--embedder", "hash"]
    )
    assert done.exit_code == 0
    assert "remembered b" in done.stdout
    assert [line.count("recollect: ") for line in done.stderr.splitlines()] == [1], done.stderr


def test_a_checkpoint_that_cannot_be_saved_is_a_warning_and_leaves_nothing(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(stores, "_CHECKPOINT_EVERY", 1)
    with open_memory() as memory:
        (tmp_path / "store/cache/checkpoints").mkdir(parents=True)
        monkeypatch.setattr(checkpoints.os, "fsync", full)
        memory.remember("green tea", id="a")
    assert ["no checkpoint was written" in said for _, _, said in caplog.record_tuples] == [True]
    assert list((tmp_path / "store/cache/checkpoints").iterdir()) == []
    monkeypatch.undo()
    assert open_memory().get("a").content == "green tea"


def test_a_witness_that_cannot_be_left_costs_no_event_and_stands_in_the_status(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    memory = open_memory()
    memory.store.log.base._writer._marked_s = -1e9
    monkeypatch.setattr(HeadFile, "mark", full)
    assert memory.remember("green tea", id="a") == "a"
    status = memory.status()
    assert (status.head, status.durable) == (2, 2)
    assert any("head" in note and "No space left" in note for note in status.degraded)
    memory.close()
    assert doctor(tmp_path / "store").healthy
