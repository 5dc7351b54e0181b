"""Files that one replica makes and the others fetch, on every engine: encrypted, checked, dropped with their keys."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from memory_pack_store import MemoryPackStore

from recollect.events.packs import shared_files
from recollect.events.packs.object_store import ObjectPackStore
from recollect.events.packs.shared_files import SharedFiles
from recollect.events.packs.store import PackStore, StoreUnreachable

Connect = Callable[[], PackStore]
SECRET = b"the safe opens with 31-07-94 " * 40


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_files, "PART_BYTES", 500)


def made(tmp_path: Path, content: bytes = SECRET) -> Path:
    path = tmp_path / "made"
    path.write_bytes(content)
    return path


def test_a_file_in_several_parts_is_fetched_as_it_was_and_is_stored_encrypted(
    connect: Connect, tmp_path: Path
) -> None:
    mine, other = SharedFiles(connect()), SharedFiles(connect())
    mine.put("shard/a", made(tmp_path))
    (found,) = other.listed().values()
    assert len(found.parts) == -(-len(SECRET) // 500)
    for part in found.parts:
        blob = connect().get_blob(part.blob)
        assert blob is not None
        assert SECRET[:29] not in blob
    assert other.fetch("shard/a", tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == SECRET
    assert not other.fetch("shard/b", tmp_path / "missing")


def test_a_file_that_is_dropped_is_gone_with_its_key_and_its_blobs(connect: Connect, tmp_path: Path) -> None:
    mine, other = SharedFiles(connect()), SharedFiles(connect())
    mine.put("shard/a", made(tmp_path))
    mine.put("shard/b", made(tmp_path, b"b"))
    gone = mine.listed()["shard/a"]
    assert other.drop(lambda name: name == "shard/a") == ["shard/a"]
    assert set(mine.listed()) == {"shard/b"}
    assert [connect().get_blob(part.blob) for part in gone.parts] == [None] * len(gone.parts)
    assert gone.parts[0].key not in connect().get_box("built").content
    assert other.drop(lambda name: name == "shard/a") == []


def test_a_dropped_file_whose_key_came_back_in_an_older_version_of_the_box_is_dropped_again(
    tmp_path: Path,
) -> None:
    files = SharedFiles(ObjectPackStore(f"file://{tmp_path}/hub"))
    files.put("shard/a", made(tmp_path))
    (older,) = (tmp_path / "hub" / "box" / "built").iterdir()
    content = older.read_bytes()
    files.drop(lambda name: name == "shard/a")
    older.write_bytes(content)
    files.drop(lambda name: name == "shard/a")
    assert not older.exists()


def test_replicas_that_share_at_once_lose_nothing(connect: Connect, tmp_path: Path) -> None:
    path = made(tmp_path, b"small")
    replicas = [SharedFiles(connect()) for _ in range(3)]
    threads = [
        threading.Thread(target=lambda one=one, n=n: [one.put(f"shard/{n}-{k}", path) for k in range(3)])
        for n, one in enumerate(replicas)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(replicas[0].listed()) == {f"shard/{n}-{k}" for n in range(3) for k in range(3)}


def test_a_lease_is_held_by_one_and_given_back(connect: Connect) -> None:
    one, other = SharedFiles(connect()), SharedFiles(connect())
    with one.lease("shards") as mine, other.lease("shards") as theirs:
        assert (mine, theirs) == (True, False)
        with other.lease("checkpoint") as elsewhere:
            assert elsewhere
    with other.lease("shards") as theirs:
        assert theirs


def test_the_lease_of_a_holder_that_died_is_taken_over_after_its_time(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("recollect.events.packs.shared_files.time.monotonic", lambda: now[0])
    dead, other = SharedFiles(connect(), lease_s=30), SharedFiles(connect(), lease_s=30)
    dead._take("lease-shards")  # and never again
    with other.lease("shards") as theirs:
        assert not theirs
    now[0] += 29
    with other.lease("shards") as theirs:
        assert not theirs
    now[0] += 1
    with other.lease("shards") as theirs:
        assert theirs


def test_a_holder_that_keeps_its_lease_up_is_not_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    store, now = MemoryPackStore(), [100.0]
    monkeypatch.setattr("recollect.events.packs.shared_files.time.monotonic", lambda: now[0])
    holder, other = SharedFiles(store, lease_s=30), SharedFiles(store, lease_s=30)
    version = holder._take("lease-shards")
    assert version is not None
    for _ in range(5):
        now[0] += 20
        with other.lease("shards") as theirs:
            assert not theirs
        version = store.put_box("lease-shards", holder._me, version)


@pytest.mark.parametrize("harm", ["other bytes", "missing", "a flipped bit"])
def test_a_blob_with_wrong_bytes_is_refused_reported_and_replaced(tmp_path: Path, harm: str) -> None:
    store = MemoryPackStore()
    mine, other = SharedFiles(store), SharedFiles(store)
    mine.put("shard/a", made(tmp_path))
    blob = mine.listed()["shard/a"].parts[1].blob
    content = store.blobs.pop(blob)
    if harm != "missing":
        store.blobs[blob] = b"nonsense" if harm == "other bytes" else bytes([content[0] ^ 1]) + content[1:]
    assert not other.fetch("shard/a", tmp_path / "fetched")
    assert "shard/a" in str(other.trouble)
    other.put("shard/a", made(tmp_path))
    assert other.trouble is None
    assert SharedFiles(store).fetch("shard/a", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == SECRET


def test_no_lease_is_given_while_the_engine_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryPackStore()

    def away(_: str) -> None:
        raise StoreUnreachable("away")

    monkeypatch.setattr(store, "get_box", away)
    with SharedFiles(store).lease("shards") as mine:
        assert not mine


def test_an_engine_that_is_known_to_be_away_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryPackStore()
    files = SharedFiles(store)
    files.away = lambda: True
    monkeypatch.setattr(store, "get_box", lambda _: pytest.fail("it was asked"))
    with pytest.raises(StoreUnreachable):
        files.drop(lambda _: True)
