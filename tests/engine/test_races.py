"""Two processes on one store: what one decides is decided inside its append, and what another erases is never half seen.

The other process is a second `Memory` on the same directory, let in at the moment that matters.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from recollect.engine.doctor_vectors import check_vectors, mend_vectors
from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.engine.erasure_plan import Plan
from recollect.engine.store import Store, system_clock
from recollect.events import segment_log
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import Clustered, Recalled, Reembedded
from recollect.events.grid import quantize
from recollect.events.redacted_log import RedactedLog
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import parse

Open = Callable[..., Memory]


class Toy:
    """An embedder of 64 dimensions that has a vector of its own for every text."""

    name, dimensions, ready = "toy/1", 64, True

    def warm(self) -> None:
        """Always ready."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        digests = [hashlib.shake_128(text.encode()).digest(64) for text in texts]
        return np.array([np.frombuffer(one, np.uint8).astype(np.float32) - 127.5 for one in digests])


def vector_of(memory: Memory, id_: str) -> list[int]:
    documents, vectors = memory.store.projections.documents, memory.store.projections.vectors
    vector = vectors.vector(documents.newest_row(documents.ids.find(id_), memory.store.projections.position))
    assert vector is not None
    return vector.astype(int).tolist()


def same_as_folded_anew(memory: Memory) -> bool:
    """Whether this process's projections hold the rows that a fold of the log from the start holds."""
    store = memory.store
    store.catch_up()
    anew = Store(store.log.base, folder=None, clock=store.clock, analyzers=list(store.projections.lexicals))
    mine, other = store.projections.documents.dump(), anew.projections.documents.dump()
    return all(
        np.array_equal(mine[key], other[key])
        if isinstance(mine[key], np.ndarray)
        else mine[key] == other[key]
        for key in mine
    )


# --- erasures ----------------------------------------------------------------------------------------


def clustered_store(open_memory: Open) -> tuple[Memory, tuple[str, ...]]:
    """A store with recalls and a dream, and the members of its largest cluster."""
    memory = open_memory()
    memory.remember_many([{"content": f"fact {n} w{n % 5}", "id": f"f{n}"} for n in range(60)])
    for n in range(5):
        memory.recall(f"w{n}", k=30)
    memory.dream()
    facts = (recorded.fact for recorded in memory.store.log.read())
    clusters = next(fact.clusters for fact in facts if isinstance(fact, Clustered))
    return memory, max(clusters, key=lambda cluster: len(cluster.members)).members


def test_a_second_erasure_in_one_cluster_hides_the_first_from_no_open_process(open_memory: Open):
    memory, members = clustered_store(open_memory)
    memory.erase(members[0])
    memory.store.checkpoint()
    memory.close()
    mine = open_memory()  # from the checkpoint; the first `Erased` event is not read yet
    open_memory().erase(members[1])
    report = mine.verify()
    assert report.differences == ()
    assert len({erasure.seq for erasure in mine.store.projections.documents.erasures}) == 2
    assert same_as_folded_anew(mine)
    assert [mine.get(id_).content for id_ in members[:2]] == ["[erased]", "[erased]"]
    assert mine.verify().differences == open_memory().verify().differences == ()


def test_three_erasures_in_one_cluster_read_the_same_however_they_were_learnt(open_memory: Open):
    memory, members = clustered_store(open_memory)
    watching = open_memory()
    for id_ in members[:3]:
        open_memory().erase(id_)
        assert watching.get(id_).content == "[erased]"
    for process in (memory, watching, open_memory()):
        assert same_as_folded_anew(process)
        assert process.verify().differences == ()


@pytest.fixture
def store(open_memory: Open) -> Memory:
    memory = open_memory()
    memory.remember_many([{"id": f"m{n}", "content": f"unique{n} moon river {n % 7}"} for n in range(100)])
    memory.recall("moon", k=3)
    return memory


def erase_in_the_middle(monkeypatch: pytest.MonkeyPatch, erase: Callable[[], object], after: int) -> None:
    """Let an erasure happen after some events of the next fold were read."""
    steady = RedactedLog.steady

    def interrupted(self: RedactedLog, start: int, upto: int) -> Iterator[object]:
        for done, recorded in enumerate(steady(self, start, upto)):
            if done == after:
                monkeypatch.setattr(RedactedLog, "steady", steady)
                erase()
            yield recorded

    monkeypatch.setattr(RedactedLog, "steady", interrupted)


@pytest.mark.parametrize("id_", ["m5", "m60"])
def test_an_erasure_while_a_store_is_opened_leaves_no_row_out(
    store: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch, id_: str
):
    erase_in_the_middle(monkeypatch, lambda: store.erase(id_), after=30)
    memory = open_memory()
    assert memory.store.projections.documents.rows == 100
    assert memory.get(id_).content == "[erased]"
    assert same_as_folded_anew(memory)


@pytest.mark.parametrize("id_", ["m5", "n7", "n30"])
def test_an_erasure_while_a_store_catches_up_leaves_no_row_out(
    store: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch, id_: str
):
    mine = open_memory()
    store.remember_many([{"id": f"n{n}", "content": f"new{n} moon"} for n in range(40)])
    erase_in_the_middle(monkeypatch, lambda: store.erase(id_), after=20)
    mine.recall("moon", k=5)
    assert mine.store.projections.documents.rows == 140
    assert mine.get(id_).content == "[erased]"
    assert same_as_folded_anew(mine)
    assert mine.verify().differences == ()


def test_an_erasure_while_words_are_indexed_leaves_no_row_out(
    store: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    mine = open_memory()
    erase_in_the_middle(monkeypatch, lambda: store.erase("m5"), after=30)
    assert mine.recall("moon", formula="mnemosyne").hits
    assert same_as_folded_anew(mine)
    assert mine.verify().differences == ()


def test_erase_succeeds_beside_writers_that_never_pause(
    store: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    other, look, looked = open_memory(), Plan.look, []

    def looked_then_overtaken(self: Plan, *args: object) -> None:
        look(self, *args)
        looked.append(self)
        if len(looked) <= 3:  # from then on the eraser holds the writer's lock, and nothing gets in
            other.recall("moon", k=2)

    monkeypatch.setattr(Plan, "look", looked_then_overtaken)
    report = store.erase("m5")
    assert len(looked) == 4
    assert len(set(map(id, looked))) == 1  # what was looked at is not looked at again
    assert report.at == store.status().head
    assert other.get("m5").content == "[erased]"


def test_an_erasure_that_was_overtaken_by_another_is_planned_anew(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    memory, members = clustered_store(open_memory)
    other, look = open_memory(), Plan.look

    def looked_then_overtaken(self: Plan, *args: object) -> None:
        look(self, *args)
        monkeypatch.setattr(Plan, "look", look)
        other.erase(members[1])

    monkeypatch.setattr(Plan, "look", looked_then_overtaken)
    memory.erase(members[0])
    for process in (memory, other, open_memory()):
        assert same_as_folded_anew(process)
        facts = (recorded.fact for recorded in process.store.log.read())
        (left,) = (fact for fact in facts if isinstance(fact, Clustered))
        again = next(cluster for cluster in left.clusters if members[0] in cluster.members)
        alone = [vector_of(process, id_) for id_ in again.members if id_ not in members[:2]]
        mean = np.sum(np.array(alone, dtype=np.float64), axis=0)
        assert np.frombuffer(again.centroid, "<i2").tolist() == quantize(mean).tolist()


# --- what a backup brings back -----------------------------------------------------------------------


@pytest.fixture(params=["sealed", "growing"])
def restored(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Path:
    """A store whose first segment was put back from a backup made before an erasure, before or after it was sealed."""
    opened = segment_log.SegmentLog.open.__func__
    small = classmethod(
        lambda cls, path, **options: opened(cls, path, **{"segment_bytes": 20_000, **options})
    )
    monkeypatch.setattr(segment_log.SegmentLog, "open", small)
    memory = open_memory()
    memory.remember("xylophone lives here", id="sec")
    memory.remember_many([{"id": f"i{n}", "content": f"note {n} moon river"} for n in range(100)])
    if request.param == "sealed":
        memory.remember("this seals the segment before it")
    memory.close()
    shutil.copytree(tmp_path / "store", tmp_path / "old")
    memory = open_memory()
    memory.erase("sec")
    memory.store.checkpoint()
    memory.close()
    open_memory().close()  # everything was looked at once
    (segment, *_) = sorted((tmp_path / "store" / "log").glob("*.seg"))
    shutil.copy(tmp_path / "old" / "log" / segment.name, segment)
    assert b"xylophone" in segment.read_bytes()
    return segment


def test_bytes_that_a_restored_backup_brings_back_are_overwritten_by_the_next_open(
    restored: Path, open_memory: Open
):
    memory = open_memory()
    assert b"xylophone" not in restored.read_bytes()
    assert memory.get("sec").content == "[erased]"
    assert memory.verify().exact
    assert memory.status().degraded == ()


def test_where_they_cannot_be_overwritten_nothing_is_exported_and_it_is_said(
    restored: Path, open_memory: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def read_only(*_: object) -> None:
        raise RecollectError("the store is read-only")

    monkeypatch.setattr(segment_log.SegmentLog, "erase", read_only)
    memory = open_memory()
    assert memory.get("sec").content == "[erased]"
    assert any("an erasure is in force but is not finished" in line for line in memory.status().degraded)
    assert any("an erasure is in force but is not finished" in line for line in memory.verify().notes)
    with pytest.raises(RecollectError, match="still holds what was erased"):
        memory.export(tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


# --- decisions ---------------------------------------------------------------------------------------


def test_a_memory_that_is_revised_during_reembed_has_the_vector_of_its_new_text(tmp_path: Path):
    class During(Toy):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if len(texts) > 64 and not done:  # the first batch: m500 is in a later one
                done.append(True)
                with Memory.open(tmp_path, embedder=Toy()) as other:
                    other.revise("m500", "zebra quantum lighthouse")
                    other.revise("m3", "red green blue")
                    other.forget("m4")
            return super().embed(texts)

    done: list[bool] = []
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember_many([{"content": f"old text {n}", "id": f"m{n}"} for n in range(520)])
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.reembed(During())
    with Memory.open(tmp_path, embedder=Toy()) as memory:
        for id_ in ("m0", "m3", "m4", "m255", "m256", "m500", "m519"):
            (wanted,) = Toy().embed([memory.get(id_).content])
            assert vector_of(memory, id_) == quantize(wanted).astype(int).tolist()
        assert memory.status().without_vector == 0


def test_two_processes_cannot_give_a_store_two_embedders(open_memory: Open, monkeypatch: pytest.MonkeyPatch):
    mine, other = open_memory(), open_memory(embedder=Toy())
    exclusive = Store.exclusive

    def overtaken(self: Store) -> object:
        monkeypatch.setattr(Store, "exclusive", exclusive)
        other.remember("told by the other first")
        return exclusive(self)

    monkeypatch.setattr(Store, "exclusive", overtaken)
    with pytest.raises(EmbedderMismatch):
        mine.remember("told by me")
    assert [memo.content for memo in other.memories()] == ["told by the other first"]


@pytest.mark.parametrize(
    "write",
    [
        lambda memory: memory.revise("a", "anew"),
        lambda memory: memory.forget("a"),
        lambda memory: memory.access("a"),
        lambda memory: memory.rate("a", "helpful"),
        lambda memory: memory.link("a", "b", "related"),
        lambda memory: memory.supersede("a", "b"),
    ],
    ids=["revise", "forget", "access", "rate", "link", "supersede"],
)
def test_what_was_forgotten_a_moment_before_is_not_written_about(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch, write: Callable[[Memory], object]
):
    mine, other = open_memory(), open_memory()
    mine.remember_many([{"id": "a", "content": "tea"}, {"id": "b", "content": "coffee"}])
    append = mine._writer.append

    def overtaken(facts: object, *args: object, **options: object) -> list[int]:
        monkeypatch.setattr(mine._writer, "append", append)
        other.forget("a")
        return append(facts, *args, **options)

    monkeypatch.setattr(mine._writer, "append", overtaken)
    with pytest.raises(InvalidInput, match="forgotten"):
        write(mine)
    assert mine.status().head == other.status().head == other.history("a")[-1].seq


def test_a_recall_on_a_view_that_an_erasure_overtook_still_replays(store: Memory, open_memory: Open):
    """The ranking is of its basis; what was erased between basis and record is told as redacted or exact."""
    mine = open_memory()
    view = mine.store.view()
    store.erase("m5")
    answer = mine.recall("moon", k=50)
    assert answer.basis > view.seq
    recalled = mine.store.event(int(answer.id[1:])).fact
    assert isinstance(recalled, Recalled)
    assert "m5" not in recalled.ids
    assert mine.verify().differences == ()


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_recall_that_an_erasure_overtook_is_ranked_again_before_it_is_recorded(
    store: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch, times: int
):
    """Each attempt to record it comes after another erasure, but for the one that keeps other writers out."""
    mine, other = open_memory(), open_memory()
    append, left = mine.store.append, [f"m{n}" for n in range(times)]

    def overtaken(*args: object, **options: object) -> list[int]:
        if left and not mine.store.is_deciding:
            other.erase(left.pop())
        return append(*args, **options)

    monkeypatch.setattr(mine.store, "append", overtaken)
    answer = mine.recall("moon", k=50)
    assert answer.id is not None
    assert answer.degraded == ()
    assert len(left) == max(0, times - 2)
    recalled = mine.store.event(int(answer.id[1:])).fact
    assert isinstance(recalled, Recalled)
    assert recalled.basis == answer.basis >= mine.store.log.erasures[-1]
    assert recalled.ids == tuple(hit.id for hit in answer.hits)
    assert not {f"m{n}" for n in range(len(left), times)} & set(recalled.ids)
    for process in (mine, open_memory()):
        report = process.verify()
        assert (report.redacted, report.different) == (0, 0)
        assert report.verdict != "partly"


RERANKED = """
name = "reranked"
source = "a test"
stages = [
  { op = "retrieve", channel = "lexical", top = 20 },
  { op = "weigh", weights = { lexical = 1.0 } },
  { op = "rerank", top = 5, expected = true },
]
"""


@pytest.mark.parametrize("times", [1, 2])
def test_what_moves_up_when_an_erasure_overtakes_a_recall_is_reranked_too_or_the_answer_says_that_it_is_not(
    store: Memory, open_memory: Open, monkeypatch: pytest.MonkeyPatch, times: int
):
    mine, other = open_memory(reranker=lambda query, texts: [1.0] * len(texts)), open_memory()
    append, left = mine.store.append, list(range(times))

    def overtaken(*args: object, **options: object) -> list[int]:
        if left and not mine.store.is_deciding:
            left.pop()
            other.erase([hit.id for hit in other.recall("moon", k=3, formula=formula, record=False).hits])
        return append(*args, **options)

    formula = parse(RERANKED, origin="a test")
    monkeypatch.setattr(mine.store, "append", overtaken)
    answer = mine.recall("moon", k=5, formula=formula)
    recalled = mine.store.event(int(answer.id[1:])).fact
    unscored = set(recalled.ids) - set(recalled.question.effects.reranked.scores)
    assert bool(unscored) == (times == 2)
    assert answer.degraded_kinds == (("rerank",) if unscored else ())
    assert mine.verify().different == 0


ERASER = """
import sys
from recollect.interfaces.python.memory import Memory
with Memory.open(sys.argv[1], embedder="hash") as memory:
    print("here", flush=True)
    for n in range(40):
        memory.erase(f"m{n}")
"""


def test_recalls_of_one_process_beside_erasures_of_another_never_leave_the_verdict_partly(
    open_memory: Open, tmp_path: Path
):
    mine = open_memory(clock=system_clock)
    mine.remember_many([{"id": f"m{n}", "content": f"unique{n} moon river {n % 7}"} for n in range(100)])
    with subprocess.Popen(
        [sys.executable, "-c", ERASER, tmp_path / "store"], stdout=subprocess.PIPE
    ) as eraser:
        assert eraser.stdout is not None
        assert eraser.stdout.readline() == b"here\n"
        while eraser.poll() is None:
            assert mine.recall("moon river", k=50).id is not None
    assert eraser.returncode == 0
    report = mine.verify()
    assert (report.redacted, report.verdict) == (0, "attested")


def test_doctor_finds_vectors_of_another_text_and_fix_gives_each_its_own(tmp_path: Path):
    """What `reembed` of an older program did beside a revision: the old text's vector, and no `sources`."""
    with Memory.open(tmp_path, embedder=Toy()) as memory:
        memory.remember_many([{"content": f"old text {n}", "id": f"m{n}"} for n in range(5)])
        (old,) = memory._writer.embedding.vectors(["old text 3"])
        memory.revise("m3", "zebra quantum lighthouse")
        assert memory.doctor().healthy
        memory.store.append([Reembedded(embedder="toy/1", vectors=(("m3", old),))])
        (problem,) = memory.doctor().problems
        assert (problem.severity, problem.where) == ("vectors", "1 memories: m3")
        fixed = memory.doctor(fix=True)
        assert fixed.healthy
        assert [one.severity for one in fixed.fixed] == ["vectors"]
        (wanted,) = Toy().embed(["zebra quantum lighthouse"])
        memory.store.catch_up()
        assert vector_of(memory, "m3") == quantize(wanted).astype(int).tolist()
    with Memory.open(tmp_path, embedder=None) as words:
        assert words.doctor().healthy  # what was mended says which text it was made from


def test_doctor_gives_no_vector_to_a_memory_that_is_erased_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with Memory.open(tmp_path, embedder=Toy()) as memory, Memory.open(tmp_path, embedder=Toy()) as other:
        memory.remember("old text", id="a")
        (old,) = memory._writer.embedding.vectors(["old text"])
        memory.revise("a", "zebra quantum lighthouse")
        memory.store.append([Reembedded(embedder="toy/1", vectors=(("a", old),))])
        memory.store.catch_up()
        wrong = check_vectors(memory.store.log, memory.store.projections, Toy()).wrong
        assert [one.id for one in wrong] == ["a"]
        other.erase("a")
        mend_vectors(memory.store, wrong, Toy())
        assert memory.store.catch_up() == other.status().head
        facts = [recorded.fact for recorded in memory.store.log.base.read()]
        assert not any(isinstance(fact, Reembedded) and fact.sources for fact in facts)


def test_doctor_finds_payloads_that_no_erasure_names(open_memory: Open):
    memory = open_memory()
    memory.remember("tea", id="a")
    memory.store.log.base.erase([2])
    (problem,) = memory.doctor().problems
    assert (problem.severity, problem.where) == ("damage", "@2")
