"""Erased for good: no byte is left, row numbers stay, the past says so, and no crash leaves a half of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import IDS, logs

from recollect.engine import erasure_plan
from recollect.engine.erasure_plan import Plan
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput, LogBusy, RecollectError, UnknownMemory
from recollect.events.facts import (
    Cluster,
    Clustered,
    Erased,
    Ingested,
    Redacted,
    Reembedded,
    Revised,
    Unknown,
)
from recollect.events.grid import from_bytes, quantize, to_bytes
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory
from recollect.projections import checkpoints
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_cache import ShardCache
from recollect.projections.view import Projections
from recollect.query.stages.ordering import DERIVED_FROM
from recollect.replay.why import NothingLeftToExplain

Open = Callable[..., Memory]
SECRET = "xylophone quarantine zephyr"
TOKENS = ("xylophone", "quarantine", "zephyr")


def filled(memory: Memory) -> Memory:
    memory.remember_many(
        [{"content": f"note {n} about tea", "id": f"n{n}", "project": "p"} for n in range(12)]
    )
    memory.remember(f"{SECRET} one", id="a", tags=["zephyrtag"], project="p", session="zephyrsession")
    memory.remember("a later note about tea", id="late")
    memory.recall("tea", k=20)
    memory.revise("a", f"{SECRET} two", source="zephyrsource")
    memory.forget("a", "zephyr asked for it")
    memory.restore("a", "zephyr again")
    memory.recall("note about tea", k=20)
    return memory


def state(projections: Projections) -> dict[str, object]:
    return {
        key: value if isinstance(value, bytes) else value.tolist()
        for key, value in projections.dump().items()
    }


def rebuilt(memory: Memory) -> Projections:
    """The projections of the log, folded from nothing."""
    store = memory.store
    projections = Projections(list(store.projections.lexicals))
    for _ in projections.apply_all(store.log.read(0, store.catch_up())):
        pass
    return projections


def holding(folder: Path, *wanted: bytes) -> list[str]:
    """The files in which any of these bytes stand."""
    return [
        path.name
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(one in path.read_bytes() for one in wanted)
    ]


def vectors_of(memory: Memory, id_: str) -> list[bytes]:
    events = [event.fact for event in memory.store.log.read()]
    return [fact.vector for fact in events if isinstance(fact, Ingested | Revised) and fact.id == id_]


# --- nothing is left -------------------------------------------------------------------------------


def test_after_an_erasure_no_file_of_the_store_holds_text_words_or_vector(memory: Memory, tmp_path: Path):
    filled(memory)
    sealer = Sealer(memory.store.projections.vectors, memory.store._publish_shard, policy=SealPolicy(block=4))
    while sealer.step():
        pass
    memory.store.checkpoint()
    (tmp_path / "store/cache/checkpoints/1.99.tmp").write_text(SECRET)
    (tmp_path / "store/cache/shards/x.building").write_text(SECRET)
    (tmp_path / "store/log/quarantine").mkdir()
    (tmp_path / "store/log/quarantine/tail").write_text(SECRET)
    vectors = vectors_of(memory, "a")
    floats = [from_bytes(vector).astype(np.float32).tobytes() for vector in vectors]
    wanted = [token.encode() for token in TOKENS] + vectors + floats
    assert len(holding(tmp_path, *wanted)) >= 6

    report = memory.erase("a")
    assert holding(tmp_path, *wanted) == []
    assert memory.store.log.verify_chain() == []
    assert report.ids == ("a",)
    assert any(name.endswith(".hnsw") for name in report.purged)
    assert any(name.endswith(".checkpoint") for name in report.purged)
    memory.store.checkpoint()
    memory.store.sealer.stop()
    while sealer.step():
        pass
    memory.recall("tea")
    memory.close()
    assert holding(tmp_path, *wanted) == []


def test_a_dry_run_tells_the_same_and_writes_nothing(memory: Memory, tmp_path: Path):
    filled(memory)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    dry = memory.erase("a", dry_run=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    wet = memory.erase("a")
    assert (dry.dry_run, dry.at, wet.dry_run) == (True, None, False)
    assert (dry.ids, dry.seqs, dry.bytes, dry.recalls) == (wet.ids, wet.seqs, wet.bytes, wet.recalls)
    assert wet.at == memory.status().head


def test_vectors_of_other_memories_in_a_shared_event_survive_two_erasures(memory: Memory, tmp_path: Path):
    for n in range(6):
        memory.remember(f"memory number {n}", id=f"m{n}")
    memory.store.append([Reembedded(embedder="hash", vectors=tuple((f"m{n}", _point(n)) for n in range(6)))])
    members = tuple(f"m{n}" for n in range(6))
    centroid = to_bytes(quantize(sum(from_bytes(_point(n)).astype(np.int64) for n in range(6))))
    clusters = [("c1", centroid, members[:3]), ("c2", _point(5), members[5:])]
    memory.store.append([_clustered(clusters)])
    for gone in ("m1", "m5"):
        memory.erase(gone)
        assert holding(tmp_path, _point(int(gone[1])), centroid) == []
        assert state(memory.store.projections) == state(rebuilt(memory))
    vectors, documents = memory.store.projections.vectors, memory.store.projections.documents
    for n in (0, 2, 3, 4):
        row = documents.newest_row(documents.ids.find(f"m{n}"), memory.status().head)
        assert vectors.vector(row).tobytes() == _point(n)
    first, second = memory.store.projections.graph.clusters.at(memory.status().head)
    assert first.centroid == to_bytes(
        quantize(from_bytes(_point(0)).astype(np.int64) + from_bytes(_point(2)).astype(np.int64))
    )
    assert second.centroid == b""


def _point(n: int) -> bytes:
    values = np.zeros(256)
    values[n], values[n + 100] = 1.0, 0.5 + n / 10
    return to_bytes(quantize(values))


def _clustered(clusters: list[tuple[str, bytes, tuple[str, ...]]]) -> Clustered:
    return Clustered(
        method="by hand", clusters=tuple(Cluster(name=a, centroid=b, members=c) for a, b, c in clusters)
    )


def test_what_was_derived_from_an_erased_memory_goes_with_it(memory: Memory):
    filled(memory)
    memory.remember("a summary that quotes zephyr", id="summary")
    memory.remember("a summary of the summary", id="second")
    memory.link("summary", "a", DERIVED_FROM)
    memory.link("second", "summary", DERIVED_FROM)
    memory.link("late", "a", "supports")
    report = memory.erase("a")
    assert (report.ids, report.derived) == (("a", "summary", "second"), ("summary", "second"))
    assert memory.get("summary").erased_at is not None
    assert memory.get("late").visible


# --- what it looks like afterwards -----------------------------------------------------------------


def test_an_erased_memory_answers_at_no_moment_and_says_when_it_was_erased(memory: Memory):
    filled(memory)
    past = memory.at("@19")
    assert "a" in [hit.id for hit in past.recall("xylophone").hits]
    head = memory.status().head
    report = memory.erase("a")
    assert "a" not in [hit.id for hit in past.recall("xylophone tea", k=50).hits]
    for seq in range(1, head + 2):
        assert "a" not in [hit.id for hit in memory.at(f"@{seq}").recall("xylophone tea", k=50).hits]
        assert "a" not in [memo.id for memo in memory.memories(at=f"@{seq}")]
    for memo in (memory.get("a"), memory.get("a", at="@15")):
        assert memo.content == "[erased]"
        assert memo.hidden_because == f"erased at @{report.at}"
        assert (memo.state.tags, memo.state.project, memo.state.session) == ((), None, None)
    words = [happening.summary for happening in memory.history("a")]
    assert words.count(f"erased at @{report.at}") == 2
    assert not any(token in line for token in TOKENS for line in words)
    assert memory.explain("tea", "a").dropped_at.reason == "erased"
    assert memory.at("@15").explain("tea", "a").dropped_at.reason == f"erased at @{report.at}"
    for refused in (lambda: memory.revise("a", "again"), lambda: memory.restore("a")):
        with pytest.raises(InvalidInput, match=f"erased at @{report.at}.*remember it anew"):
            refused()
    with pytest.raises(InvalidInput, match=f"erased at @{report.at}"):
        memory.erase("a")
    assert memory.sql("SELECT content FROM memories WHERE id = 'a'").rows == [(None,)]


def test_tables_that_were_open_before_the_erasure_forget_it_too(memory: Memory):
    filled(memory)
    asked = "SELECT count(*) FROM events WHERE fact::VARCHAR LIKE '%xylophone%'"
    assert memory.sql(asked).rows == [(2,)]
    memory.erase("a")
    assert memory.sql(asked).rows == [(0,)]


def test_an_erased_id_may_be_remembered_anew_and_erased_again(memory: Memory):
    filled(memory)
    first = memory.erase("a")
    memory.remember("something new about zephyrs", id="a")
    assert memory.get("a").content == "something new about zephyrs"
    assert memory.get("a", at=f"@{first.at}").erased_at == first.at
    assert memory.recall("zephyrs").hits[0].id == "a"
    second = memory.erase("a")
    assert second.seqs == (first.at + 1,)
    assert memory.get("a").erased_at == second.at
    assert state(memory.store.projections) == state(rebuilt(memory))


def test_filters_find_hidden_memories_too_and_an_empty_one_is_refused(memory: Memory):
    filled(memory)
    memory.forget("n3")
    with pytest.raises(InvalidInput, match="would erase every memory"):
        memory.erase({})
    with pytest.raises(InvalidInput, match="at least one"):
        memory.erase([])
    with pytest.raises(UnknownMemory):
        memory.erase(["n1", "nobody"])
    assert memory.erase({"project": "nowhere"}).ids == ()
    head = memory.status().head
    report = memory.erase({"project": "p"}, reason="a request")
    assert set(report.ids) == {"a", *(f"n{n}" for n in range(12))}
    facts = [event.fact for event in memory.store.log.read(head)]
    assert [fact.id for fact in facts if isinstance(fact, Erased)] == list(report.ids)
    assert [memo.id for memo in memory.memories()] == ["late"]


class Walked(list[str]):
    """Counts how often it is iterated."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


@pytest.mark.parametrize("events", [1, 500])
def test_a_plan_walks_through_its_memories_as_often_for_many_events_as_for_one(events: int):
    ids = Walked(f"m{n}" for n in range(500))
    plan = Plan(ids)
    for n in range(events):
        plan.add(n + 1, Ingested(id=f"m{n}", content="", at=0), "memory.ingested", 10)
    found = [(fact.id, fact.seqs) for fact in plan.facts("")]
    assert found == [(f"m{n}", (n + 1,)) for n in range(events)]
    assert ids.walks == 2


def test_an_event_of_several_memories_belongs_to_the_first_of_them_and_large_remains_are_split(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(erasure_plan, "_REMAINS_BYTES_MAX", 1)
    plan = Plan(["b", "a"])
    plan.add(1, Ingested(id="a", content="", at=0), "memory.ingested", 10)
    plan.add(2, Reembedded(embedder="hash", vectors=(("a", b""), ("b", b""))), "memory.reembedded", 10)
    plan.add(3, Ingested(id="b", content="", at=0), "memory.ingested", 10)
    assert [(fact.id, fact.seqs) for fact in plan.facts("")] == [("b", (2,)), ("b", (3,)), ("a", (1,))]


# --- verify ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("independent", [False, True])
def test_recalls_that_cannot_come_out_any_more_are_attested_and_without_it_redacted_by_name(
    memory: Memory, independent: bool
):
    before = memory.recall("nothing yet").id
    filled(memory)
    assert memory.verify(independent=independent).touching == 0
    named = memory.recall("xylophone tea", k=5)
    assert named.hits[0].id == "a"
    report = memory.erase("a", unattested=True)
    after = memory.recall("note about tea", k=5)
    again = memory.verify(independent=independent)
    assert (again.verdict, again.exact, again.redacted) == ("partly", False, report.unattested)
    assert again.differences == ()
    assert again.checked == 5
    assert again.touching == 3
    assert {redacted.recall for redacted in again.redactions}.isdisjoint({before, after.id})
    (mine,) = [redacted for redacted in again.redactions if redacted.recall == named.id]
    assert [(rank.rank, rank.id, rank.erased_at) for rank in mine.ranks] == [(1, "a", report.at)]
    with pytest.raises(
        NothingLeftToExplain, match=f"was at rank 1 in {named.id}, and was erased at @{report.at}"
    ):
        memory.why(named.id, "a")


def test_a_forged_recall_is_a_difference_even_where_data_was_erased(memory: Memory):
    filled(memory)
    answer = memory.recall("xylophone tea", k=5)
    recalled = memory.store.event(int(answer.id[1:])).fact
    memory.forget("n1")
    basis = memory.status().head
    forged = msgspec.structs.replace(recalled, ids=("n1",), scores=(9.0,), basis=basis)
    memory.store.append([forged])
    memory.erase("a")
    report = memory.verify()
    assert not report.exact
    (difference,) = report.differences
    assert "attested at" in difference.reason
    memory.store.append([forged])
    assert "names n1, which was not visible" in memory.verify().differences[-1].reason


# --- laws ------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(log=logs(), data=st.data())
def test_after_an_erasure_live_state_is_that_of_a_rebuild_and_no_row_has_moved(log, data):
    facts = [event.fact for event in log if not isinstance(event.fact, Unknown | Redacted)]
    with Memory.open(":memory:", embedder=None) as memory:
        if facts:
            memory.store.append(facts)
        memory.store.projections.index("unicode61-cjk/2", memory.store.log.read(0, memory.store.catch_up()))
        documents = memory.store.projections.documents
        known = [id_ for id_ in IDS if documents.ids.find(id_) >= 0]
        wanted = data.draw(st.lists(st.sampled_from(known), unique=True) if known else st.just([]))
        for id_ in wanted:
            before = memory.store.projections.documents
            try:
                erased = memory.erase(id_).ids
            except InvalidInput:
                continue
            now = memory.store.projections.documents
            gone = np.isin(now.memory_of, [now.ids.find(one) for one in erased])
            assert now.ids.values == before.ids.values
            assert now.born.tolist() == before.born.tolist()
            assert now.memory_of.tolist() == before.memory_of.tolist()
            assert now.died[~gone].tolist() == before.died[~gone].tolist()
            assert now.died[gone].tolist() == now.born[gone].tolist()
            assert state(memory.store.projections) == state(rebuilt(memory))
            assert memory.store.log.verify_chain() == []


# --- crashes ---------------------------------------------------------------------------------------


class Crash(Exception):
    pass


def crash(*_: object, **__: object) -> None:
    raise Crash


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Store, "_finish_erasures"),
        (SegmentLog, "erase"),
        (Store, "_new_projections"),
        (Projections, "apply_all"),
        (Store, "purge_caches"),
        (ShardCache, "keep_only"),
    ],
)
def test_an_erasure_that_was_interrupted_anywhere_is_finished_by_the_next_open(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, name: str
):
    memory = filled(open_memory())
    memory.store.checkpoint()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, crash)
        with pytest.raises(Crash):
            memory.erase("a")
    memory.store.log.close()
    again = open_memory()
    assert again.get("a").content == "[erased]"
    assert "a" not in [hit.id for hit in again.recall("xylophone tea", k=50).hits]
    assert holding(tmp_path, *(token.encode() for token in TOKENS[1:])) == []
    assert again.verify().verdict == "attested"
    assert again.doctor().healthy
    assert state(again.store.projections) == state(rebuilt(again))


def test_payloads_that_cannot_be_overwritten_yet_are_not_shown_and_no_checkpoint_hides_them(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def busy(*_: object) -> None:
        raise LogBusy("another process holds the lock")

    memory = filled(open_memory())
    with monkeypatch.context() as patch:
        patch.setattr(SegmentLog, "erase", busy)
        with pytest.raises(RecollectError, match="is not finished: another process holds the lock"):
            memory.erase("a")
    assert memory.get("a").content == "[erased]"
    assert any("is not finished" in line for line in memory.status().degraded)
    assert memory.store.checkpoint() is None
    assert [problem.severity for problem in memory.doctor().problems] == ["erasure"]
    memory.close()
    open_memory()
    assert holding(tmp_path, b"xylophone") == []


@pytest.fixture
def unfinished(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A store whose log was busy when `a` was erased, and is until `monkeypatch.undo`."""

    def busy(*_: object) -> None:
        raise LogBusy("another process holds the lock")

    filled(memory)
    monkeypatch.setattr(SegmentLog, "erase", busy)
    with pytest.raises(RecollectError, match="is not finished: another process holds the lock"):
        memory.erase("a")
    return memory


def test_an_erasure_that_failed_is_finished_with_the_next_write(
    unfinished: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    unfinished.remember("while the log is busy", id="busy")
    assert holding(tmp_path, b"xylophone") != []
    assert any("is not finished" in line for line in unfinished.status().degraded)
    monkeypatch.undo()
    unfinished.remember("and when it is not", id="free")
    assert holding(tmp_path, b"xylophone") == []
    assert unfinished.status().degraded == ()
    assert unfinished.store.checkpoint() is not None
    assert unfinished.doctor().healthy


def test_an_erasure_that_failed_does_not_fail_the_next_one(
    unfinished: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with pytest.raises(RecollectError, match="is not finished"):
        unfinished.erase("n1")
    monkeypatch.undo()
    assert unfinished.erase("n2").ids == ("n2",)
    assert holding(tmp_path, b"xylophone", b"note 1 about", b"note 2 about") == []


def test_a_log_that_still_holds_what_was_erased_is_not_exported(
    unfinished: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with pytest.raises(RecollectError, match="export refused, because the log still holds what was erased"):
        unfinished.export(tmp_path / "out" / "log.jsonl")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    unfinished.export(tmp_path / "out" / "log.jsonl")
    assert holding(tmp_path, b"xylophone") == []


def test_a_crash_before_the_event_is_in_the_log_erases_nothing(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    memory = filled(open_memory())
    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", crash)
        with pytest.raises(Crash):
            memory.erase("a")
    memory.close()
    assert open_memory().get("a").content == f"{SECRET} two"


def test_a_stale_checkpoint_beside_a_newer_one_is_deleted_by_the_next_open(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    stale = memory.store.checkpoint()
    data = stale.read_bytes()
    memory.erase("a")
    memory.store.checkpoint()
    stale.write_bytes(data)
    memory.close()
    assert holding(tmp_path, b"xylophone") == [stale.name]
    open_memory()
    assert holding(tmp_path, b"xylophone") == []


# --- others on the same store ----------------------------------------------------------------------


def test_another_process_notices_and_drops_the_content(open_memory: Open, tmp_path: Path):
    other, mine = open_memory(), open_memory()
    filled(other)
    assert other.recall("xylophone", record=False).hits[0].id == "a"
    old = other.store.projections
    mine.erase("a")
    assert other.get("a").content == "[erased]"
    assert "a" not in [hit.id for hit in other.recall("xylophone tea", k=50).hits]
    assert other.store.projections is not old
    assert other.store.checkpoint() is not None
    assert holding(tmp_path, b"quarantine") == []
    assert state(other.store.projections) == state(rebuilt(mine))


def test_a_checkpoint_saved_by_a_process_that_did_not_notice_is_deleted(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other, mine = open_memory(), open_memory()
    filled(other)
    mine.status()
    save = checkpoints.save

    def erase_then_save(*args: object, **kwargs: object) -> Path:
        monkeypatch.setattr(checkpoints, "save", save)
        mine.erase("a")
        return save(*args, **kwargs)

    monkeypatch.setattr(checkpoints, "save", erase_then_save)
    assert other.store.checkpoint() is None
    assert holding(tmp_path, b"xylophone") == []


def test_a_process_of_its_own_erases_while_this_one_has_the_store_open(memory: Memory, tmp_path: Path):
    filled(memory)
    script = "import sys; from recollect.interfaces.python.memory import Memory; Memory.open(sys.argv[1], embedder=None).erase('a')"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "store")], check=True, timeout=300)
    assert memory.get("a").content == "[erased]"
    assert memory.verify().verdict == "attested"


def test_a_write_in_between_is_not_missed(open_memory: Open, monkeypatch: pytest.MonkeyPatch):
    mine, other = open_memory(), open_memory()
    filled(mine)
    look = Plan.look

    def looked_then_revised(*args: object) -> None:
        look(*args)
        monkeypatch.setattr(Plan, "look", look)
        other.revise("a", "xylophone at the last moment")

    monkeypatch.setattr(Plan, "look", looked_then_revised)
    report = mine.erase("a")
    assert len([seq for seq in report.seqs if isinstance(mine.store.event(seq).fact, Redacted)]) == 3
    assert other.get("a").content == "[erased]"


# --- out, in, and other futures --------------------------------------------------------------------


def test_an_erased_store_goes_out_and_comes_back_with_the_same_head_hash(open_memory: Open, tmp_path: Path):
    memory = filled(open_memory())
    memory.erase("a")
    done = memory.export(tmp_path / "log.jsonl")
    assert "xylophone" not in (tmp_path / "log.jsonl").read_text("utf-8")
    copy = open_memory("copy")
    assert copy.import_(tmp_path / "log.jsonl").chain == done.chain
    assert copy.get("a").content == "[erased]"
    assert state(copy.store.projections) == state(rebuilt(memory))
    assert copy.verify().verdict == "attested"


def test_a_fork_of_an_erased_store_lives_on_without_the_memory(memory: Memory, tmp_path: Path):
    filled(memory)
    memory.erase("a")
    memory.fork(tmp_path / "fork")
    with Memory.open(tmp_path / "fork", embedder="hash") as fork:
        assert fork.get("late").content == "a later note about tea"
        assert fork.get("a").content == "[erased]"
        assert fork.verify() == memory.verify()


def test_shards_that_lost_a_vector_are_sealed_again_and_the_others_stay(memory: Memory):
    memory.remember_many([{"content": f"memory number {n}", "id": f"m{n}"} for n in range(24)])
    store = memory.store
    policy = SealPolicy(block=8, ratio=0.0)
    sealer = store.sealer = Sealer(store.projections.vectors, store._publish_shard, policy=policy)
    while sealer.step():
        pass
    shards = store.projections.vectors.shards_at(store.catch_up())
    assert len(shards) == 1
    memory.remember_many([{"content": f"memory number {n}", "id": f"m{n}"} for n in range(24, 32)])
    sealer.stop()  # what it is building in the background is left alone by `step`
    while sealer.step():
        pass
    kept = store.projections.vectors.shards_at(store.catch_up())[1].digest
    at = memory.erase("m5").at
    store.sealer.stop()
    assert [shard.digest for shard in store.projections.vectors.shards_at(at)] == [kept]
    while sealer.step():
        pass
    first, second = store.projections.vectors.shards_at(store.catch_up())
    assert (first.count, second.digest) == (23, kept)
    assert state(store.projections) == state(rebuilt(memory))
    assert memory.recall("memory number 7", k=1).hits[0].id == "m7"
    assert memory.verify().exact
