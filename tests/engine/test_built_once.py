"""Shards and checkpoints of a store on several machines are built by one replica, fetched and checked by the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine import built_once
from recollect.events.facts import ShardSealed
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors import sealing, shard_cache
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder

ROWS = 64
TINY = Builder(M=4, ef_construction=16, seed=1, ef_min=8, ef_per_100=8)


@pytest.fixture
def shared(tmp_path: Path) -> str:
    return f"file://{tmp_path}/shared?mirror={tmp_path}"


def opened(where: str) -> Memory:
    return Memory.open(where, embedder="hash")


def filled(memory: Memory) -> Memory:
    memory.remember_many(
        [{"content": f"note {n} about tea number {n % 9}", "id": f"n{n}"} for n in range(ROWS)]
    )
    return memory


def sealed(memory: Memory) -> ShardSealed | None:
    """What this replica seals now, if it is the one that does."""
    store = memory.store
    assert store._built is not None
    return Sealer(
        store.projections.vectors, store._publish_shard, policy=SealPolicy(block=ROWS), builder=TINY,
        refresh=store.catch_up, lease=store._built.lease,
    ).step()  # fmt: skip


def seal(memory: Memory) -> ShardSealed:
    fact = sealed(memory)
    assert fact is not None
    return fact


def answers(memory: Memory) -> list[tuple[str, float]]:
    found = memory.recall("tea number 3", record=False, now="2030-01-01")
    return [(hit.id, hit.score) for hit in found.hits]


def no_build(*_: object, **__: object) -> None:
    pytest.fail("it was built, and should have been fetched")


def test_the_others_fetch_the_shard_that_one_built_and_rank_the_same_bits(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(f"{shared}/a") as a:
        fact = seal(filled(a))
        expected = answers(a)
        monkeypatch.setattr(shard_cache, "build_shard", no_build)
        monkeypatch.setattr(sealing, "build_shard", no_build)
        with opened(f"{shared}/b") as b:
            assert answers(b) == expected
            assert b.store.projections.vectors.shards.file_of(fact.digest) is not None
            assert sealed(b) is None
            assert b.status().degraded == a.status().degraded


def test_while_one_holds_the_lease_the_others_build_nothing(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(f"{shared}/a") as a, opened(f"{shared}/b") as b:
        filled(a)
        b.store.catch_up()
        assert a.store._built is not None
        with a.store._built.lease("shards") as mine, monkeypatch.context() as patch:
            assert mine
            patch.setattr(sealing, "build_shard", no_build)
            assert sealed(b) is None
        assert seal(b).count == ROWS
        assert sealed(a) is None  # it hears of the seal first


def test_when_the_holder_of_the_lease_died_another_builds(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(f"{shared}/a") as a, opened(f"{shared}/b") as b:
        filled(a)
        b.store.catch_up()
        files = a.store.log.base.shared  # type: ignore[attr-defined]
        files._take("lease-shards")  # its process dies here
        assert sealed(b) is None
        monkeypatch.setattr(b.store.log.base.shared, "_lease_s", 0.0)  # type: ignore[attr-defined]
        assert seal(b).count == ROWS
        assert answers(a) == answers(b)


@pytest.mark.parametrize("harm", ["changed", "missing"])
def test_a_shard_whose_blob_is_wrong_is_built_reported_and_shared_anew(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    with opened(f"{shared}/a") as a:
        seal(filled(a))
        expected = answers(a)
        for blob in (tmp_path / "shared" / "blob").iterdir():
            blob.unlink()
            if harm == "changed":
                blob.write_bytes(b"something else")
        with opened(f"{shared}/b") as b:
            assert answers(b) == expected
            assert b.verify().exact
        monkeypatch.setattr(shard_cache, "build_shard", no_build)
        with opened(f"{shared}/c") as c:
            assert answers(c) == expected


def test_that_a_blob_was_wrong_is_said_in_status(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(f"{shared}/a") as a:
        seal(filled(a))
        for blob in (tmp_path / "shared" / "blob").iterdir():
            blob.write_bytes(b"something else")
        with opened(f"{shared}/b") as b:
            monkeypatch.setattr(b.store._built, "give", lambda *_: None)
            answers(b)
            assert any("has wrong or missing bytes" in one for one in b.status().degraded)


def test_a_new_replica_starts_from_a_checkpoint_that_the_log_confirms(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_once, "_WORTH_EVENTS", 10)
    with opened(f"{shared}/a") as a:
        filled(a)
        assert a.store.checkpoint() is not None
        seq = a.store.log.head
        a.remember("one more note about tea", id="more")
        expected = answers(a)
        with opened(f"{shared}/b") as b:
            assert b.store._checkpoint_seq == seq
            assert answers(b) == expected
            assert b.verify().exact
            assert b.doctor().healthy


def test_a_checkpoint_of_another_log_is_not_believed(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_once, "_WORTH_EVENTS", 10)
    with opened(f"file://{tmp_path}/other?mirror={tmp_path}/o") as other, opened(f"{shared}/a") as a:
        filled(other)
        other.remember("not the same", id="x")
        path = other.store.checkpoint()
        assert path is not None
        filled(a)
        a.remember("another end", id="y")
        a.remember("and one more", id="z")
        files = a.store.log.base.shared  # type: ignore[attr-defined]
        (name,) = other.store.log.base.shared.listed()  # type: ignore[attr-defined]
        files.put(name, path)
        with opened(f"{shared}/b") as b:
            assert b.store._checkpoint_seq == 0
            assert answers(b) == answers(a)


def test_an_erasure_drops_what_may_hold_it_wherever_it_was_shared(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_once, "_WORTH_EVENTS", 10)
    with opened(f"{shared}/a") as a, opened(f"{shared}/b") as b:
        a.remember("the safe opens with 31-07-94", id="secret")
        seal(filled(a))
        a.store.checkpoint()
        files = a.store.log.base.shared  # type: ignore[attr-defined]
        before = files.listed()
        assert {name.partition("/")[0] for name in before} == {"shard", "checkpoint"}
        keys = [part.key for one in before.values() for part in one.parts]
        b.store.catch_up()
        report = a.erase("secret")
        assert {name.partition("/")[0] for name in report.purged} >= {"checkpoints", "shards"}
        assert files.listed() == {}
        assert b.get("secret").content == "[erased]"
    for path in tmp_path.rglob("*"):
        held = path.read_bytes() if path.is_file() else b""
        assert b"31-07-94" not in held, path
        assert not any(key in held for key in keys), path


def test_a_checkpoint_that_is_shared_beside_an_erasure_does_not_stay(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built_once, "_WORTH_EVENTS", 10)
    with opened(f"{shared}/a") as a, opened(f"{shared}/b") as b:
        filled(a)
        b.store.catch_up()
        files = b.store.log.base.shared  # type: ignore[attr-defined]
        give = b.store._built.give_checkpoint  # type: ignore[union-attr]

        def erased_meanwhile(path: Path, key: str, seq: int) -> bool:
            a.erase("n3")
            return give(path, key, seq)

        monkeypatch.setattr(b.store._built, "give_checkpoint", erased_meanwhile)
        b.store.checkpoint()
        assert files.listed() == {}
