"""Files that are moved, deleted or put back under an open store: what would be lost is refused, what was erased stays gone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.events.errors import LogDamaged, LogFailed, LogReplaced
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


def refuses_everything(memory: Memory, why: str) -> None:
    for ask in (
        lambda: memory.remember("coffee", id="b"),
        lambda: memory.revise("a", "coffee"),
        lambda: memory.erase("a"),
        lambda: memory.recall("tea"),
        lambda: memory.recall("tea", record=False),
        lambda: memory.get("a"),
        memory.memories,
        memory.status,
        memory.verify,
    ):
        with pytest.raises(LogReplaced, match=f"{why}.*Open the store again"):
            ask()


def segment_of(folder: Path) -> Path:
    return sorted((folder / "log").glob("*.seg"))[-1]


def replaced_segment(folder: Path) -> None:
    copy = folder / "copy"
    shutil.copy(segment_of(folder), copy)
    copy.replace(segment_of(folder))


def removed_segment(folder: Path) -> None:
    segment_of(folder).unlink()


def removed_head(folder: Path) -> None:
    (folder / "log" / "head").unlink()


def restored_directory(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("backup"))
    shutil.rmtree(folder)
    folder.with_name("backup").rename(folder)


@pytest.mark.parametrize(
    "harm",
    [replaced_segment, removed_segment, removed_head, restored_directory],
    ids=lambda harm: harm.__name__,
)
def test_files_that_are_gone_are_neither_written_to_nor_answered_from(
    open_memory: Open, tmp_path: Path, harm: Callable[[Path], None]
):
    memory = open_memory()
    memory.remember("tea", id="a")
    past = memory.at("@2")
    harm(tmp_path / "store")
    refuses_everything(memory, "replaced or removed")
    with pytest.raises(LogReplaced):
        past.recall("tea")


def test_what_a_restored_store_erased_is_not_answered_by_a_process_that_has_the_old_files(
    open_memory: Open, tmp_path: Path
):
    old = open_memory()
    old.remember("xylophone", id="a")
    reader = SegmentLog.open(tmp_path / "store" / "log", read_only=True)
    restored_directory(tmp_path / "store")
    open_memory().erase("a")
    refuses_everything(old, "replaced or removed")
    with pytest.raises(LogReplaced, match="replaced or removed"):
        reader.refresh()


def test_a_log_that_was_away_for_a_moment_is_named_and_then_goes_on(open_memory: Open, tmp_path: Path):
    memory = open_memory()
    memory.remember("tea", id="a")
    (tmp_path / "store" / "log").rename(tmp_path / "away")
    refuses_everything(memory, "replaced or removed")
    (tmp_path / "away").rename(tmp_path / "store" / "log")
    memory.remember("coffee", id="b")
    assert {one.id for one in memory.memories()} == {"a", "b"}
    assert memory.verify().exact


@pytest.mark.parametrize("place", [0, -1], ids=["sealed", "growing"])
def test_an_older_copy_that_was_written_over_an_open_file_is_named_and_no_write_is_acknowledged(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
):
    monkeypatch.setitem(SegmentLog.open.__func__.__kwdefaults__, "segment_bytes", 4_000)
    memory = open_memory()
    for n in range(10):
        memory.remember(f"note {n} about tea", id=f"n{n}")
    path = sorted((tmp_path / "store" / "log").glob("*.seg"))[place]
    with path.open("r+b") as file:  # in place, as `cp` does
        file.truncate(path.stat().st_size // 3)
    refuses_everything(memory, path.name)
    for read in (memory.store.log.read, memory.store.log.frames):
        with pytest.raises(LogDamaged, match=path.name):
            list(read(0, memory.store.log.head))


def test_an_erasure_by_a_process_with_old_files_touches_no_byte_of_the_restored_ones(
    open_memory: Open, tmp_path: Path
):
    old = open_memory()
    old.remember("tea", id="a")
    restored_directory(tmp_path / "store")
    fresh = open_memory()
    for id_ in "bcd":
        fresh.remember(f"told after the restore {id_}", id=id_)
    with pytest.raises(LogReplaced):
        old.erase("a")
    assert fresh.get("a").content == "tea"
    assert fresh.verify().exact
    fresh.close()
    assert doctor(tmp_path / "store").healthy


def test_a_lock_file_that_was_deleted_keeps_two_processes_apart_all_the_same(
    open_memory: Open, tmp_path: Path
):
    mine, other = open_memory(), open_memory()
    mine.remember("tea", id="a")
    (tmp_path / "store" / "log" / "writer.lock").unlink()
    with other.store.log.exclusive():
        assert not mine.store.log.base._lock.is_free()
    for n in range(5):
        mine.remember(f"mine {n}", id=f"m{n}")
        other.remember(f"other {n}", id=f"o{n}")
    assert len(open_memory().memories()) == 11
    assert mine.verify().exact


def test_bytes_that_come_back_under_an_open_store_are_overwritten_before_an_export(
    open_memory: Open, tmp_path: Path
):
    memory = open_memory()
    memory.remember("xylophone lives here", id="a")
    before = segment_of(tmp_path / "store").read_bytes()
    memory.erase("a")
    with segment_of(tmp_path / "store").open("r+b") as file:  # in place, as `rsync --inplace` does
        file.write(before)
    memory.export(tmp_path / "out.jsonl")
    assert b"xylophone" not in (tmp_path / "out.jsonl").read_bytes()
    assert b"xylophone" not in segment_of(tmp_path / "store").read_bytes()


@pytest.mark.parametrize("undone", ["undream", "unlink"])
def test_a_summary_goes_with_its_memories_also_when_it_is_no_longer_linked_to_them(
    open_memory: Open, tmp_path: Path, undone: str
):
    memory = open_memory()
    memory.remember("xylophone lives here", id="a")
    memory.remember("a summary: xylophone lives here", id="s")
    memory.link("s", "a", "derived_from")
    if undone == "unlink":
        memory.unlink("s", "a")
    else:
        memory.forget("s")
    report = memory.erase("a")
    assert report.derived == ("s",)
    held = [
        path
        for path in (tmp_path / "store").rglob("*")
        if path.is_file() and b"xylophone" in path.read_bytes()
    ]
    assert held == []


@pytest.mark.parametrize("name", ["00000000000000000012 (conflicted copy).checkpoint", "notes.bak"])
def test_an_odd_file_among_the_checkpoints_stops_nothing_and_goes_with_the_next_erasure(
    open_memory: Open, tmp_path: Path, name: str
):
    memory = open_memory()
    memory.remember("xylophone", id="a")
    memory.store.checkpoint()
    odd = tmp_path / "store" / "cache" / "checkpoints" / name
    odd.write_bytes(b"xylophone")
    memory.erase("a")
    assert not odd.exists()
    odd.write_bytes(b"again")
    assert open_memory().get("a").content == "[erased]"


@pytest.fixture
def closed(open_memory: Open, tmp_path: Path) -> Path:
    """A store with an erasure, closed."""
    memory = open_memory()
    memory.remember("tea", id="a")
    memory.remember("coffee", id="b")
    memory.erase("b")
    memory.close()
    return tmp_path / "store"


def put_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True, parents=True)
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["head", "active.index", "erase.intent"])
def test_a_pipe_in_place_of_a_file_of_the_log_is_refused_by_name(closed: Path, name: str):
    put_pipe(closed / "log" / name)
    with pytest.raises(LogFailed, match=f"not a regular file.*{name}"):
        Memory.open(closed, embedder="hash")


@pytest.mark.parametrize("name", ["erased.stamps", "checkpoints/00000000000000000003.checkpoint"])
def test_a_pipe_in_place_of_a_cached_file_is_not_waited_for(closed: Path, open_memory: Open, name: str):
    put_pipe(closed / "cache" / name)
    assert open_memory().get("a").content == "tea"


def test_an_erasure_intent_that_cannot_be_read_is_removed(open_memory: Open, tmp_path: Path):
    memory = open_memory()
    memory.remember("tea", id="a")
    memory.close()
    (tmp_path / "store" / "log" / "erase.intent").write_bytes(b"garbage")
    open_memory().close()
    assert doctor(tmp_path / "store").healthy
