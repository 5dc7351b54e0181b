"""Copies are not put into their store; forks go on after a full disk; odd files are named with what to do about them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.engine.replicate import replicate
from recollect.events.errors import InvalidInput, LogFailed
from recollect.interfaces.python.memory import Memory
from recollect.replay.fork import note

Open = Callable[..., Memory]


@pytest.fixture
def store(open_memory: Open, tmp_path: Path) -> Path:
    with open_memory() as memory:
        memory.remember("tea is green", id="tea")
    return tmp_path / "store"


@pytest.mark.parametrize("place", ["inner", "log/x", "cache/checkpoints/x"])
def test_no_copy_is_put_into_its_store(store: Path, open_memory: Open, place: str) -> None:
    inside = store / place
    with open_memory() as memory, pytest.raises(InvalidInput, match="in the store itself"):
        memory.fork(inside)
    with pytest.raises(InvalidInput, match="in the store itself"):
        doctor(store, salvage=inside)
    with pytest.raises(InvalidInput, match="in the store itself"):
        replicate(str(store), str(inside))
    assert not inside.exists()


@pytest.mark.parametrize("killed", [False, True])
def test_a_fork_that_met_a_full_disk_is_run_again(
    store: Path, open_memory: Open, tmp_path: Path, killed: bool
) -> None:
    assert store.is_dir()

    def full(path: Path, _: bytes) -> None:
        path.write_bytes(b"{")
        raise KeyboardInterrupt if killed else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_memory() as memory:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(note, "write_private", full)
            with pytest.raises((OSError, KeyboardInterrupt)):
                memory.fork(tmp_path / "fork")
        memory.fork(tmp_path / "fork")
    assert doctor(tmp_path / "fork").healthy


@pytest.mark.parametrize("odd", ["directory", "FIFO", "symbolic link"])
@pytest.mark.parametrize(("name", "remedy"), [("active.index", "delete it"), ("head", "move it away")])
def test_an_odd_file_of_the_log_is_named_with_what_to_do(
    store: Path, odd: str, name: str, remedy: str
) -> None:
    path = store / "log" / name
    path.unlink()
    make: dict[str, Callable[[Path], object]] = {
        "directory": Path.mkdir, "FIFO": os.mkfifo, "symbolic link": lambda path: path.symlink_to(path)
    }  # fmt: skip
    make[odd](path)
    for act in (lambda: Memory.open(store, embedder="hash"), lambda: doctor(store, fix=True)):
        with pytest.raises(LogFailed, match=f"{name}.*it is a {odd}; {remedy}") as refused:
            act()
        assert "acknowledged" not in str(refused.value)


@pytest.mark.parametrize("odd", ["garbage", "directory", "fifo", "loop"])
def test_a_configuration_that_commands_refuse_is_a_problem_to_doctor(store: Path, odd: str) -> None:
    assert doctor(store).healthy
    path = store / "config.toml"
    make: dict[str, Callable[[], object]] = {
        "garbage": lambda: path.write_text("=="), "directory": path.mkdir,
        "fifo": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path),
    }  # fmt: skip
    make[odd]()
    with pytest.raises(InvalidInput, match=r"config\.toml"):
        Memory.open(store, embedder="hash")
    assert [(one.severity, one.where) for one in doctor(store).problems] == [("config", str(path))]
