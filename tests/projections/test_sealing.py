"""Sealing: which blocks become shards, that a seal says the same in every process, and the thread that makes them."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.events.envelope import Recorded
from recollect.events.facts import AnyFact, Forgotten, Ingested, ShardRetired, ShardSealed
from recollect.events.grid import quantize, to_bytes
from recollect.projections.documents import Documents
from recollect.projections.vectors import sealing
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.sealing import Sealer, SealPlan, SealPolicy, plan, seal_event_id
from recollect.projections.vectors.shard_names import Builder

POLICY = SealPolicy(block=10, ratio=2.0, shard_max=1_000)
TINY = Builder(M=4, ef_construction=16, seed=1, ef_per_100=100, ef_min=2)
WAIT_SECONDS = 120.0


class Log:
    """Events folded as they come, and a note of every seal."""

    def __init__(self, folder: Path | None = None) -> None:
        self.documents = Documents()
        self.vectors = Vectors(self.documents, shard_dir=folder)
        self.seals: list[ShardSealed] = []
        self.sealed = threading.Event()

    def tell(self, fact: AnyFact) -> None:
        recorded = Recorded(self.vectors.seq + 1, 0, b"", "", "", 1, b"", fact)
        for new in self.documents.apply(recorded):
            self.vectors.add(new)
        self.vectors.apply(recorded)

    def publish(self, fact: ShardSealed) -> None:
        self.seals.append(fact)
        self.tell(fact)
        self.sealed.set()

    def ingest(self, first: int, end: int) -> None:
        for n in range(first, end):
            vector = to_bytes(quantize([1.0, n % 7, n % 11]))
            self.tell(Ingested(id=f"m{n}", content="", at=0, vector=vector))


def layout_after(growth: list[int], policy: SealPolicy = POLICY) -> tuple[list[tuple[int, int]], int]:
    """The shards after the store grew to these sizes one after another, and how many vectors were built."""
    sealed: list[tuple[int, int]] = []
    built = 0
    for slots in growth:
        while (due := plan(sealed, slots, policy)) is not None:
            sealed = [*(one for one in sealed if one[1] <= due.first), tuple(due)]
            built += due.end - due.first
    return sealed, built


def test_nothing_is_due_before_a_block_is_complete():
    assert plan([], 9, POLICY) is None
    assert plan([(0, 10)], 19, POLICY) is None


def test_a_complete_block_is_due():
    assert plan([], 10, POLICY) == SealPlan(0, 10)


def test_a_bulk_load_becomes_one_shard():
    assert plan([], 238, POLICY) == SealPlan(0, 230)


def test_smaller_neighbours_are_taken_in_and_larger_ones_are_not():
    assert plan([(0, 100), (100, 120)], 130, POLICY) == SealPlan(100, 130)
    assert plan([(0, 60), (60, 80)], 90, POLICY) == SealPlan(0, 90)
    assert plan([(0, 100)], 110, POLICY) == SealPlan(100, 110)


def test_no_shard_grows_beyond_the_largest_size():
    assert plan([], 5_000, POLICY) == SealPlan(0, 1_000)
    assert plan([(0, 990)], 1_490, POLICY) == SealPlan(990, 1_490)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=40))
def test_every_whole_block_is_sealed_once_without_gaps(steps):
    growth = np.cumsum(steps).tolist()
    sealed, _ = layout_after(growth)
    starts, ends = [start for start, _ in sealed], [end for _, end in sealed]
    assert starts == [0, *ends[:-1]][: len(starts)]
    assert growth[-1] - (ends[-1] if ends else 0) < POLICY.block
    assert all(end - start <= POLICY.shard_max for start, end in sealed)


def test_a_hundred_thousand_rows_one_by_one_end_in_few_shards_and_few_rebuilds():
    policy = SealPolicy()
    growth = list(range(0, 100_001, policy.block))
    assert max(len(layout_after(growth[:n], policy)[0]) for n in range(len(growth))) <= 3
    assert layout_after(growth, policy)[1] <= 3.5 * 100_000


def test_a_hundred_thousand_rows_at_once_are_built_once():
    assert layout_after([100_000], SealPolicy()) == ([(0, 24 * 4_096)], 24 * 4_096)


def test_two_processes_say_the_same_of_the_same_block():
    one, two = Log(), Log()
    for log in (one, two):
        log.ingest(0, 25)
    two.tell(Forgotten(id="m3"))
    two.ingest(25, 29)
    facts = [Sealer(log.vectors, log.publish, builder=TINY, policy=POLICY).step() for log in (one, two)]
    assert facts[0] is not None
    assert facts[0] == facts[1]
    assert (facts[0].first_row, facts[0].end_row, facts[0].basis, facts[0].count) == (0, 20, 20, 20)


def test_a_seal_leaves_out_rows_that_died_before_its_block_was_complete():
    log = Log()
    log.ingest(0, 5)
    log.tell(Forgotten(id="m2"))
    log.ingest(5, 10)
    fact = Sealer(log.vectors, log.publish, builder=TINY, policy=POLICY).step()
    assert fact is not None
    assert (fact.end_row, fact.basis, fact.count) == (10, 11, 9)


def test_the_event_id_follows_from_the_seal():
    fact = ShardSealed(first_row=0, end_row=5, basis=5, count=5, digest="d", builder="b")
    other = ShardSealed(first_row=0, end_row=5, basis=5, count=5, digest="e", builder="b")
    assert len(seal_event_id(fact)) == 16
    assert seal_event_id(fact) == seal_event_id(fact)
    assert seal_event_id(fact) != seal_event_id(other)


def test_what_was_published_is_not_built_again_before_it_is_folded():
    log, published = Log(), list[ShardSealed]()
    log.ingest(0, 10)
    sealer = Sealer(log.vectors, published.append, builder=TINY, policy=POLICY)
    assert sealer.step() is not None
    assert sealer.step() is None
    log.ingest(10, 20)
    assert sealer.step() is not None
    assert [fact.end_row for fact in published] == [10, 20]


def test_the_thread_seals_what_is_due_when_it_looks_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sealing, "_POLL_SECONDS", 0.01)
    log = Log(tmp_path)
    sealer = Sealer(log.vectors, log.publish, builder=TINY, policy=POLICY)
    sealer.start()
    log.ingest(0, 30)
    assert log.sealed.wait(WAIT_SECONDS)
    sealer.stop()
    assert sealer.last_error is None
    assert log.seals[0].first_row == 0
    assert {path.stem for path in tmp_path.iterdir()} == {fact.digest for fact in log.seals}


def test_stopping_gives_up_a_build_and_publishes_nothing(monkeypatch):
    monkeypatch.setattr("recollect.projections.vectors.shards._SLICE_ROWS", 1)
    log = Log()
    log.ingest(0, 200)
    begun, seen = threading.Event(), list[int]()

    def progress(done: int, rows: int) -> None:
        seen.append(done)
        begun.set()
        assert sealer._stop.wait(WAIT_SECONDS)

    monkeypatch.setattr(sealing, "build_shard", partial(sealing.build_shard, progress=progress))
    sealer = Sealer(log.vectors, log.publish, builder=TINY, policy=POLICY)
    sealer.start()
    assert begun.wait(WAIT_SECONDS)
    sealer.stop()
    assert log.seals == []
    assert sealer.last_error is None
    assert len(seen) == 1


class Held(threading.Event):
    """An event that is cleared only when it may be."""

    def __init__(self) -> None:
        super().__init__()
        self.clearing, self.may = threading.Event(), threading.Event()

    def clear(self) -> None:
        self.clearing.set()
        assert self.may.wait(WAIT_SECONDS)
        super().clear()


def test_stopping_is_noticed_at_once_whenever_it_comes(monkeypatch):
    monkeypatch.setattr(sealing, "_POLL_SECONDS", 1000.0)
    sealer = Sealer(Log().vectors, Log().publish, builder=TINY, policy=POLICY)
    wake = sealer._wake = Held()
    sealer.start()
    thread = sealer._thread
    assert thread is not None
    assert wake.clearing.wait(WAIT_SECONDS)
    stopping = threading.Thread(target=sealer.stop, daemon=True)
    stopping.start()
    assert wake.wait(WAIT_SECONDS)  # stop has asked it to wake, and the thread is about to clear that
    wake.may.set()
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()
    stopping.join()


def test_after_an_error_the_thread_tries_again_and_says_so_until_it_succeeds(monkeypatch):
    monkeypatch.setattr(sealing, "_POLL_SECONDS", 1e-3)
    monkeypatch.setattr(sealing, "_RETRY_SECONDS", 1e-3)
    log = Log()
    log.ingest(0, 10)
    failed, seen = OSError("disk full"), list[BaseException | None]()
    done = threading.Event()

    def publish(fact: ShardSealed) -> None:
        seen.append(sealer.last_error)
        if len(seen) < 4:
            raise failed
        log.publish(fact)
        if len(log.seals) == 1:
            log.ingest(10, 20)
        else:
            done.set()

    sealer = Sealer(log.vectors, publish, builder=TINY, policy=POLICY)
    with pytest.raises(OSError, match="disk full"):
        sealer.step()
    sealer.start()
    assert done.wait(WAIT_SECONDS)
    sealer.stop()
    assert seen == [None, None, failed, failed, None]


def sealed_by(log: Log) -> ShardSealed:
    fact = Sealer(log.vectors, log.publish, builder=TINY, policy=POLICY).step()
    assert fact is not None
    return fact


def test_a_seal_of_other_rows_than_those_of_the_log_is_never_used():
    log, shifted = Log(), Log()
    shifted.tell(Ingested(id="lost elsewhere", content="", at=0, vector=to_bytes(quantize([1.0, 2.0, 3.0]))))
    shifted.ingest(0, 9)
    log.ingest(0, 10)
    fact = sealed_by(shifted)
    log.tell(fact)
    assert log.vectors.shards_at(log.vectors.seq) == []
    log.tell(msgspec.structs.replace(fact, rows=""))  # as seals were before they said so
    assert len(log.vectors.shards_at(log.vectors.seq)) == 1


def test_a_retired_shard_is_not_used_from_then_on_and_those_that_it_replaced_are_back():
    log = Log()
    log.ingest(0, 10)
    small = sealed_by(log)
    log.ingest(10, 20)
    large = sealed_by(log)
    before = log.vectors.seq
    log.tell(ShardRetired(digest=large.digest, reason="bad"))
    loaded = Log()
    loaded.vectors.load(log.vectors.dump())
    for vectors in (log.vectors, loaded.vectors):
        used = [[fact.digest for fact in vectors.shards_at(at)] for at in (before, before + 1)]
        assert used == [[large.digest], [small.digest]]
        assert vectors.digests == {small.digest, large.digest}
        assert list(vectors.seals) == [small.digest]
        assert vectors.retired_at(large.digest) == before + 1


def test_a_retired_shard_may_be_sealed_again_under_another_event_id(tmp_path):
    log = Log(tmp_path)
    log.ingest(0, 10)
    sealer = Sealer(log.vectors, log.publish, builder=TINY, policy=POLICY)
    first = sealer.step()
    assert first is not None
    assert sealer.step() is None
    log.tell(ShardRetired(digest=first.digest, reason="bad"))
    assert sealer.step() == first
    assert [fact.digest for fact in log.vectors.shards_at(log.vectors.seq)] == [first.digest]
    retired = log.vectors.retired_at(first.digest)
    assert retired == 12
    assert seal_event_id(first, retired=retired) not in {
        seal_event_id(first),
        seal_event_id(first, retired=99),
    }


def test_nothing_is_sealed_before_there_are_enough_vectors_for_a_first_shard():
    policy = SealPolicy(first=1_000, block=100)
    assert plan([], 999, policy) is None
    assert plan([], 1_000, policy) == (0, 1_000)
    assert plan([(0, 1_000)], 1_100, policy) == (1_000, 1_100)
