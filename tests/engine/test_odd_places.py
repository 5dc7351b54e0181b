"""Copies are not put into their store; forks go on after a full disk; odd files are named with what to do about them."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.configuration import configured
from recollect.engine.doctor import doctor
from recollect.engine.replicate import replicate
from recollect.events.errors import InvalidInput, LogDamaged, LogFailed
from recollect.events.segment_log import SegmentLog
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


ODD: dict[str, Callable[[Path], object]] = {
    "a directory": Path.mkdir, "a FIFO": os.mkfifo, "a link to itself": lambda path: path.symlink_to(path),
    "a link to nowhere": lambda path: path.symlink_to(path.with_name("nowhere")),
    "a link to a device": lambda path: path.symlink_to("/dev/null"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("name", "remedy"), [("active.index", "delete it"), ("head", "move it away")])
def test_an_odd_file_of_the_log_is_named_with_what_to_do(
    store: Path, odd: str, name: str, remedy: str
) -> None:
    path = store / "log" / name
    path.unlink()
    ODD[odd](path)
    for act in (lambda: Memory.open(store, embedder="hash"), lambda: doctor(store, fix=True)):
        with pytest.raises(
            LogFailed, match=f"{name}.*it is a (directory|FIFO|symbolic link); {remedy}"
        ) as refused:
            act()
        assert "acknowledged" not in str(refused.value)
    assert not (store / "log" / "nowhere").exists()


@pytest.fixture
def segments(store: Path) -> list[Path]:
    """Three segments of one memory each, the last of which grows."""
    for id_ in ("milk", "sugar"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(SegmentLog.open.__func__.__kwdefaults__, "segment_bytes", 1)  # type: ignore[attr-defined]
            with Memory.open(store, embedder="hash") as memory:
                memory.remember(f"{id_} is white", id=id_)
    found = sorted((store / "log").glob("*.seg"))
    assert len(found) == 3
    return found


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_stands_in_the_place_of_a_segment_is_named_and_what_comes_before_is_salvaged(
    store: Path, segments: list[Path], tmp_path: Path, odd: str, place: int
) -> None:
    with Memory.open(store, embedder="hash") as memory:
        had = memory.status().head
    before, path = int(segments[place].name[:20]) - 1, segments[place]
    path.unlink()
    ODD[odd](path)
    found = doctor(store, fix=True, scrub=True, salvage=tmp_path / "new")
    assert [one.severity for one in found.problems] == ["damage"]
    assert str(path) in found.problems[0].where
    assert "in the place of its segment is a" in found.problems[0].what
    assert found.salvaged is not None
    assert (found.salvaged.head, found.salvaged.lost) == (before, had - before)
    assert doctor(tmp_path / "new").healthy
    with Memory.open(store, embedder="hash") as memory:
        assert memory.status().head == before
        assert memory.verify().verdict == "differs"
        with pytest.raises(LogDamaged, match=f"{path.name} is damaged"):
            memory.remember("more")


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


LINKS = {"nowhere": "../unmounted/it", "itself": "{}"}


def put_link(path: Path, leads: str) -> None:
    """A link that leads to what is not there, or to itself."""
    path.unlink(missing_ok=True)
    path.symlink_to(LINKS[leads].format(path.name))


@pytest.mark.parametrize("leads", LINKS)
def test_a_record_of_copies_behind_a_link_that_leads_nowhere_is_told_and_kept(
    store: Path, leads: str
) -> None:
    put_link(store / "copies", leads)
    assert [one.severity for one in doctor(store).problems] == ["copies"]
    with Memory.open(store, embedder="hash") as memory:
        assert any(str(store / "copies") in one for one in memory.status().degraded)
        memory.export(store.parent / "out.jsonl")
        assert str(store / "copies") in (memory.erase("tea").unknown_copies or "")
    assert (store / "copies").is_symlink()


@pytest.mark.parametrize("leads", LINKS)
def test_a_configuration_behind_a_link_that_leads_nowhere_is_refused(store: Path, leads: str) -> None:
    put_link(store / "config.toml", leads)
    with pytest.raises(InvalidInput, match=r"config\.toml: cannot be read: .*symbolic link"):
        configured(store)
    assert [one.severity for one in doctor(store).problems] == ["config"]


@pytest.mark.parametrize("odd", ["directory", *LINKS])
def test_a_fork_whose_note_cannot_be_read_is_a_problem(store: Path, odd: str) -> None:
    path = store / "fork.json"
    path.mkdir() if odd == "directory" else put_link(path, odd)
    (problem,) = doctor(store).problems
    assert (problem.severity, str(path) in problem.what) == ("fork", True)
    with Memory.open(store, embedder="hash") as memory:
        assert any(str(path) in one for one in memory.status().degraded)


@pytest.mark.parametrize("leads", LINKS)
@pytest.mark.parametrize("name", ["branches", "branches/b", "branches/b/log"])
def test_a_branch_behind_a_link_that_leads_nowhere_may_hold_what_was_erased(
    store: Path, leads: str, name: str
) -> None:
    with Memory.open(store, embedder="hash") as memory:
        memory.erase("tea")
    (store / name).parent.mkdir(parents=True, exist_ok=True)
    put_link(store / name, leads)
    (problem,) = doctor(store).problems
    assert (problem.severity, problem.where) == ("erasure", str(store / name.removesuffix("/log")))
    assert "whether it holds what was erased cannot be seen" in problem.what


@pytest.mark.parametrize("leads", LINKS)
def test_a_lock_behind_a_link_that_leads_nowhere_is_a_problem(store: Path, leads: str) -> None:
    put_link(store / "log/writer.lock", leads)
    assert [one.severity for one in doctor(store).problems] == ["lock"]


def test_doctor_goes_on_where_the_cache_is_a_link_to_itself(store: Path) -> None:
    shutil.rmtree(store / "cache", ignore_errors=True)
    put_link(store / "cache", "itself")
    found = doctor(store, fix=True)
    assert any(str(store / "cache") in one.where for one in found.problems)
    assert (store / "cache").is_symlink()


def test_a_file_in_the_place_of_the_quarantine_is_named_with_what_to_do(store: Path) -> None:
    place = store / "log/quarantine"
    place.write_bytes(b"")
    with Memory.open(store, embedder="hash") as memory:
        for act in (memory.status, lambda: doctor(store)):
            with pytest.raises(
                LogFailed, match=r"log/quarantine cannot be read.*it is no directory.*move it away"
            ):
                act()
    (store / "log/head").unlink()
    with next((store / "log").glob("*.seg")).open("ab") as segment:
        segment.write(b"the beginning of a write")
    with pytest.raises(LogFailed, match=r"quarantine.*it is no directory.*move it away"):
        SegmentLog.open(store / "log")
    place.unlink()
    assert Memory.open(store, embedder="hash").status().head == 3
