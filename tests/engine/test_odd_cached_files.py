"""A directory, pipe or link in the place of a cached file stops no command, and `doctor --fix` removes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.engine.erased_bytes import STAMPS
from recollect.events.erasure import INTENT
from recollect.events.head import HEAD
from recollect.events.segments import INDEX_CACHE
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder

Open = Callable[..., Memory]
ROWS = 64
TINY = Builder(M=4, ef_construction=16, seed=1, ef_min=8, ef_per_100=8)


def a_directory(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("x")


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**42)


ODD: dict[str, Callable[[Path], object]] = {
    "directory": a_directory,
    "fifo": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "loop": lambda path: path.symlink_to(path),
    "huge": a_huge_file,
}


@pytest.fixture
def shard(open_memory: Open) -> Path:
    with open_memory() as memory:
        memory.remember_many([{"content": f"note {n} about tea {n % 9}", "id": f"n{n}"} for n in range(ROWS)])
        vectors = memory.store.projections.vectors
        sealed = Sealer(
            vectors, memory.store._publish_shard, policy=SealPolicy(block=ROWS), builder=TINY
        ).step()
        assert sealed is not None
        assert memory.store.cache is not None
        return memory.store.cache / "shards" / f"{sealed.digest}.hnsw"


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_thing_in_the_place_of_a_shard_stops_no_recall_and_doctor_removes_it(
    shard: Path, open_memory: Open, odd: str
) -> None:
    shard.unlink()
    ODD[odd](shard)
    store = shard.parents[2]
    assert str(shard) in {one.where for one in doctor(store).problems}
    found = doctor(store, fix=True)
    assert found.healthy, found
    assert not os.path.lexists(shard)
    ODD[odd](shard)
    with open_memory() as memory:
        answer = memory.recall("note 3 about tea 3")
        assert answer.hits[0].id == "n3"
        assert answer.degraded == ()
    assert shard.is_file()
    assert not shard.is_symlink()
    assert doctor(store).healthy


@pytest.mark.parametrize("odd", ["directory", "fifo", "device", "loop"])
@pytest.mark.parametrize("name", [f"{5:020d}.checkpoint", "x.checkpoint", "left.tmp"])
def test_an_odd_thing_among_the_checkpoints_stops_no_erasure_and_doctor_removes_it(
    open_memory: Open, odd: str, name: str
) -> None:
    with open_memory() as memory:
        memory.remember_many([{"content": "tea is green", "id": "tea"}, {"content": "ink", "id": "ink"}])
        store = memory.store.folder
    assert store is not None
    path = store / "cache" / "checkpoints" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    ODD[odd](path)
    os.utime(path, (0, 0), follow_symlinks=False)
    assert str(path) in {one.where for one in doctor(store).problems}
    assert doctor(store, fix=True).healthy
    assert not os.path.lexists(path)
    ODD[odd](path)
    with open_memory() as memory:
        memory.erase(["ink"])
        assert memory.store.unfinished_erasure is None
    assert not os.path.lexists(path)
    assert doctor(store).healthy


@pytest.fixture
def erased(open_memory: Open) -> Path:
    """A store in which something was erased, so that it keeps stamps of its files."""
    with open_memory() as memory:
        memory.remember_many([{"content": "tea is green", "id": "tea"}, {"content": "ink", "id": "ink"}])
        memory.erase(["ink"])
    with open_memory() as memory:
        assert memory.store.folder is not None
        return memory.store.folder


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_thing_in_the_place_of_the_stamps_stops_no_opening_and_doctor_removes_it(
    erased: Path, open_memory: Open, odd: str
) -> None:
    stamps = erased / "cache" / STAMPS
    kept = stamps.read_bytes()
    stamps.unlink()
    ODD[odd](stamps)
    assert [(one.severity, one.where) for one in doctor(erased).problems] == [("cache", str(stamps))]
    assert doctor(erased, fix=True).healthy
    assert not os.path.lexists(stamps)
    ODD[odd](stamps)
    with open_memory() as memory:
        assert memory.status().degraded == ()
    assert stamps.is_file()
    assert stamps.read_bytes() == kept
    assert doctor(erased).healthy


def test_an_index_that_is_longer_than_the_log_is_not_read_and_doctor_removes_it(
    erased: Path, open_memory: Open
) -> None:
    index = erased / "log" / INDEX_CACHE
    a_huge_file(index)
    found = doctor(erased)
    assert [(one.severity, one.where) for one in found.problems] == [("cache", str(index))]
    assert f"{2**42:,} bytes" in found.problems[0].what
    assert doctor(erased, fix=True).healthy
    assert not index.exists()
    a_huge_file(index)
    with open_memory() as memory:
        memory.remember("the log goes on")
    assert doctor(erased).healthy  # the index of the last close took its place


def test_an_intent_a_head_file_and_the_note_of_a_fork_are_read_no_further_than_they_go(
    erased: Path, open_memory: Open
) -> None:
    log = erased / "log"
    for path in (log / HEAD, log / INTENT, erased / "fork.json"):
        with path.open("ab") as file:
            file.truncate(2**42)
    found = doctor(erased)
    assert [one.severity for one in found.problems] == ["erasure", "fork"]
    assert "fork.json is not the note of a fork: over 1,048,576 bytes" in found.problems[1].what
    (erased / "fork.json").unlink()
    with open_memory() as memory:
        memory.remember("a write finishes what it can")
    assert not (log / INTENT).exists()


def test_doctor_deletes_no_directory_outside_of_the_cache(open_memory: Open) -> None:
    with open_memory() as memory:
        memory.remember("tea is green")
        store = memory.store.folder
    assert store is not None
    path = store / "log" / "mine.new"
    a_directory(path)
    os.utime(path, (0, 0))
    assert not doctor(store, fix=True).healthy
    assert (path / "inside").exists()
