"""Another embedder: tried out in a fork, then switched to as events, with the past left as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from compared_stores import LATER, Hourly, contents, live, scattered

from recollect.engine import reembed as reembedding
from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import PROBE_TEXT, EmbedderFailed, EmbedderMismatch
from recollect.events.disk import WRITER_LOCK, RealDisk, WriterLock
from recollect.events.errors import InvalidInput
from recollect.events.facts import Cluster, Clustered, EmbedderAdopted, Ingested, Recalled, Reembedded
from recollect.events.grid import from_bytes, norm2, quantize, to_bytes
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import names


@pytest.fixture
def lived(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "store", embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=20)
    return tmp_path / "store"


def vector(text: str) -> bytes:
    return to_bytes(quantize(scattered([text])[0]))


# --- switching -------------------------------------------------------------------------------------


def test_recalls_from_before_and_after_the_switch_verify_exactly(lived: Path):
    with Memory.open(lived, embedder="hash", clock=Hourly(LATER)) as memory:
        report = memory.reembed(scattered)
        assert (report.embedder, report.embedded) == ("scattered", 20)
        answer = memory.recall("redis session")
        assert answer.degraded == ()
        assert memory.verify().exact
        assert memory.verify(independent=True).exact
    with Memory.open(lived, embedder=scattered) as memory:
        assert memory.recall("redis session", record=False).degraded == ()
        assert memory.verify().exact


def test_after_the_switch_questions_meet_the_new_vectors(lived: Path):
    with Memory.open(lived, embedder="hash") as memory:
        memory.reembed(scattered)
        text = memory.get("m7").content
        first = memory.recall(text, record=False).hits[0]
        assert first.factors["vector"] == 1.0
        then = memory.at("@30").recall(text)
        assert then.hits[0].factors["vector"] > 0.9  # the hash embedder's, which was in force then


def test_an_interrupted_switch_goes_on_with_what_is_missing(tmp_path: Path):
    batches: list[int] = []

    def failing(texts: list[str]) -> np.ndarray:
        if len(texts) > 1:
            batches.append(len(texts))
        if len(batches) > 1:
            raise ConnectionError
        return scattered(texts)

    def working(texts: list[str]) -> np.ndarray:
        return scattered(texts)

    failing.name = working.name = "remote"  # type: ignore[attr-defined]
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember_many([f"note {n} about auth" for n in range(300)])
        with pytest.raises(EmbedderFailed, match="ConnectionError"):
            memory.reembed(failing)
    with Memory.open(tmp_path, embedder=None) as memory:
        assert memory.reembed(working).embedded == 300 - 256
        assert memory.reembed(working).embedded == 0
        facts = [event.fact for event in memory._store.log.read()]
        assert sum(isinstance(fact, EmbedderAdopted) for fact in facts) == 2
        assert [len(fact.vectors) for fact in facts if isinstance(fact, Reembedded)] == [256, 44]


def test_switching_back_takes_up_the_old_vectors(lived: Path):
    with Memory.open(lived, embedder="hash") as memory:
        before = memory.recall("auth session", record=False, now="2026-01-01")
        memory.reembed(scattered)
        memory.reembed("hash")
        after = memory.recall("auth session", record=False, now="2026-01-01")
        assert [(hit.id, hit.factors["vector"]) for hit in after.hits] == [
            (hit.id, hit.factors["vector"]) for hit in before.hits
        ]


def test_hidden_memories_are_embedded_too_and_found_when_they_come_back(lived: Path):
    with Memory.open(lived, embedder="hash") as memory:
        text = memory.get("m3").content
        memory.forget("m3")
        memory.reembed(scattered)
        assert not memory.get("m3").visible
        memory.restore("m3")
        hit = next(hit for hit in memory.recall(text, k=20, record=False).hits if hit.id == "m3")
        assert hit.factors["vector"] == 1.0


def test_revision_counts_and_texts_stay(lived: Path):
    with Memory.open(lived, embedder="hash") as memory:
        before = {memo.id: (memo.content, memo.state.revision_count) for memo in memory.memories()}
        memory.reembed(scattered)
        assert {memo.id: (memo.content, memo.state.revision_count) for memo in memory.memories()} == before


def test_clusters_are_centred_on_the_new_vectors(lived: Path):
    with Memory.open(lived, embedder="hash") as memory:
        old = to_bytes(quantize(np.ones(256)))
        memory._writer.append(
            [Clustered(method="x", clusters=(Cluster(name="c", centroid=old, members=("m1", "m2")),))]
        )
        memory.reembed(scattered)
        fact = memory._store.event(memory.status().head).fact
        assert isinstance(fact, Clustered)
        both = sum(from_bytes(vector(memory.get(id_).content)).astype(int) for id_ in ("m1", "m2"))
        assert fact.clusters[0].centroid == to_bytes(quantize(both))


def test_words_only_stores_get_their_first_vectors(tmp_path: Path):
    with Memory.open(tmp_path, embedder=None) as memory:
        memory.remember("auth session", id="a")
        recorded = memory.recall("auth")
        assert memory.reembed("hash").embedded == 1
        assert "vector" in memory.recall("auth", record=False).hits[0].factors
        assert recorded.degraded
        assert memory.verify().exact


def test_whoever_still_has_the_old_embedder_is_refused_and_told_the_way_out(lived: Path):
    with Memory.open(lived, embedder="hash") as old, Memory.open(lived, embedder=None) as other:
        other.reembed(scattered)
        head = other.status().head
        for use in (
            lambda: old.remember("auth session"),
            lambda: old.revise("m1", "auth token"),
            lambda: old.recall("auth"),
        ):
            with pytest.raises(EmbedderMismatch, match=r"'scattered'.*'hash/1'"):
                use()
        assert old.status().head == head
        assert old.verify().exact


def test_no_embedder_is_refused(lived: Path):
    with Memory.open(lived, embedder=None) as memory, pytest.raises(InvalidInput, match="needs an embedder"):
        memory.reembed("none")


# --- others write meanwhile ------------------------------------------------------------------------


class Meanwhile:
    """The scattered embedder; what was given happens once, while it embeds the memories' texts."""

    name, dimensions, ready = "scattered", 32, True

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = [happens]

    def warm(self) -> None:
        pass

    def embed(self, texts: list[str]) -> np.ndarray:
        if texts != [PROBE_TEXT] and self._happens:
            self._happens.pop()()
        return scattered(texts)


def vector_of(memory: Memory, id_: str) -> bytes:
    documents = memory.store.projections.documents
    row = documents.newest_row(documents.ids.find(id_), memory.store.catch_up())
    return memory.store.projections.vectors.vector(row).tobytes()


@pytest.mark.parametrize("theirs", [scattered, None], ids=["with a vector", "with words only"])
def test_a_memory_revised_while_it_was_embedded_gets_the_vector_of_its_new_text(lived: Path, theirs):
    def revise() -> None:
        with Memory.open(lived, embedder=theirs) as other:
            other.revise("m7", "the cat sat on the mat")

    with Memory.open(lived, embedder="hash") as memory:
        report = memory.reembed(Meanwhile(revise))
        assert report.embedded == (19 if theirs else 20)
        for memo in memory.memories():
            assert vector_of(memory, memo.id) == vector(memo.content), memo.id
        assert memory.reembed(scattered).embedded == 0
        assert memory.verify().exact


def test_a_memory_erased_while_it_was_embedded_leaves_no_vector(lived: Path):
    def erase() -> None:
        with Memory.open(lived, embedder=None) as other:
            other.erase("m7")

    with Memory.open(lived, embedder="hash") as memory:
        gone = vector(memory.get("m7").content)
        assert memory.reembed(Meanwhile(erase)).embedded == 19
        given = [dict(e.fact.vectors) for e in memory.store.log.read() if isinstance(e.fact, Reembedded)]
        assert [sorted(one) for one in given] == [sorted({f"m{n}" for n in range(20)} - {"m7"})]
    assert not any(gone in path.read_bytes() for path in lived.rglob("*") if path.is_file())


def test_what_others_write_meanwhile_costs_no_second_embedding(lived: Path):
    embedded: list[str] = []

    class Counting(Meanwhile):
        def embed(self, texts: list[str]) -> np.ndarray:
            embedded.extend(text for text in texts if text != PROBE_TEXT)
            return super().embed(texts)

    def recall() -> None:
        with Memory.open(lived, embedder=None) as other:
            other.recall("auth")

    with Memory.open(lived, embedder="hash") as memory:
        assert memory.reembed(Counting(recall)).embedded == 20
    assert len(embedded) == 20


def test_another_switch_in_between_ends_this_one(lived: Path):
    def switch() -> None:
        with Memory.open(lived, embedder=None) as other:
            other.reembed("hash")

    with (
        Memory.open(lived, embedder="hash") as memory,
        pytest.raises(InvalidInput, match=r"another embedder while it was embedded with 'scattered'"),
    ):
        memory.reembed(Meanwhile(switch))
    with Memory.open(lived, embedder="hash") as memory:
        assert not any(isinstance(event.fact, Reembedded) for event in memory.store.log.read())
        assert memory.reembed("hash").embedded == 0


def test_clusters_are_not_centred_on_vectors_that_are_gone(lived: Path, monkeypatch: pytest.MonkeyPatch):
    recentre = reembedding._recentre

    def revised_then_recentred(*args: object) -> None:
        with Memory.open(lived, embedder=scattered) as other:
            other.revise("m1", "the cat sat on the mat")
        recentre(*args)

    with Memory.open(lived, embedder="hash") as memory:
        old = to_bytes(quantize(np.ones(256)))
        cluster = Cluster(name="c", centroid=old, members=("m1",))
        memory._writer.append([Clustered(method="x", clusters=(cluster,))])
        monkeypatch.setattr(reembedding, "_recentre", revised_then_recentred)
        memory.reembed(scattered)
        (cluster,) = memory.store.projections.graph.clusters.at(memory.status().head)
        assert cluster.centroid == to_bytes(
            quantize(from_bytes(vector("the cat sat on the mat")).astype(int))
        )


def third(texts: list[str]) -> np.ndarray:
    return scattered([text[::-1] for text in texts])


def test_vectors_of_an_embedder_that_is_in_force_no_more_are_not_written(lived: Path):
    """Another process switches while the vectors are made, and ends before it has made any."""

    def switch() -> None:
        with Memory.open(lived, embedder=None) as other:
            reembedding._adopt(other._writer, choose(third))

    with (
        Memory.open(lived, embedder="hash") as memory,
        pytest.raises(InvalidInput, match="another process gave the store another embedder"),
    ):
        memory.reembed(Meanwhile(switch))
    with Memory.open(lived, embedder=None) as memory:
        assert not any(isinstance(event.fact, Reembedded) for event in memory.store.log.read())


def test_clusters_are_read_and_centred_under_the_writers_lock(lived: Path, monkeypatch: pytest.MonkeyPatch):
    """Else those of a dream in between would be replaced by older ones."""
    recentred, free = reembedding.recentred, []

    def looked(*given: object) -> Clustered:
        lock = WriterLock(RealDisk(), lived / "log" / WRITER_LOCK, timeout_s=0.0)
        free.append(lock.is_free())
        lock.close()
        return recentred(*given)

    with Memory.open(lived, embedder="hash") as memory:
        cluster = Cluster(name="c", centroid=to_bytes(quantize(np.ones(256))), members=("m1",))
        memory._writer.append([Clustered(method="x", clusters=(cluster,))])
        monkeypatch.setattr(reembedding, "recentred", looked)
        memory.reembed(scattered)
    assert free == [False]


# --- trying out ------------------------------------------------------------------------------------


def test_the_same_embedder_in_a_fork_changes_nothing(lived: Path):
    before = contents(lived)
    with Memory.open(lived, embedder=None) as memory:
        result = memory.compare(embedder="hash")
    assert result.metrics["unchanged"] == 1.0
    assert result.b.endswith("embedded with hash/1")
    assert contents(lived) == before


@pytest.fixture(scope="module")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with dreams, one of them taken back after memories changed, several formulas, and an erasure."""
    folder = tmp_path_factory.mktemp("eventful") / "store"
    with Memory.open(folder, embedder="hash", formula="reverie", clock=Hourly()) as memory:
        live(memory, memories=30)
        memory.dream()
        live(memory, memories=14, seed=2)
        memory.recall("auth session", session="s1", formula="memorysync")
        undone = memory.dream().id
        for number in range(0, 12, 2):
            memory.revise(f"m{number}", f"stripe billing tuesday {number}")
        memory.undream(undone)
        memory.erase("m5")
        for text in ("auth session", "redis cookie", "auth login"):
            memory.recall(text, session="s1", formula="omega")
            memory.recall(text, session="s1")
    return folder


@pytest.mark.parametrize("name", names())
def test_the_same_embedder_changes_nothing_whatever_happened(eventful: Path, name: str):
    with Memory.open(eventful, embedder=None) as memory:
        result = memory.compare(name, name, embedder="hash")
        assert result.questions == len(memory._store.projections.adoptions.recalls)
    assert result.metrics["unchanged"] == 1.0


def test_recorded_answers_meet_the_recorded_formulas_with_another_embedder(eventful: Path):
    with Memory.open(eventful, embedder=None) as memory:
        same = memory.compare("recorded", embedder="hash")
        other = memory.compare("recorded", embedder=scattered)
    assert (same.a, same.b) == ("recorded", "fork since @0: recorded formulas, embedded with hash/1")
    assert same.metrics["unchanged"] == 1.0 > other.metrics["unchanged"]


def test_clusters_that_an_undone_dream_brings_back_are_centred_where_they_were(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", clock=Hourly()) as memory:
        first = (Cluster(name="c1", centroid=to_bytes(quantize(np.ones(256))), members=("m1", "m2")),)
        second = (Cluster(name="c1", centroid=to_bytes(quantize(np.arange(256))), members=("m1", "m3")),)
        live(memory, memories=8)
        for clusters in (first, second):
            memory._writer.append([Clustered(method="x", clusters=clusters)])
        memory.revise("m1", "stripe billing tuesday")
        memory._writer.append([Clustered(method="x", clusters=first)])
        for _ in range(2):  # the second run only follows the first
            memory.recall("auth session")
            memory.compare(embedder=scattered, work=tmp_path / "work")
            memory._writer.append([Clustered(method="x", clusters=second)])
            memory.compare(embedder=scattered, work=tmp_path / "work")
    with SegmentLog.open(tmp_path / "work" / "log", read_only=True) as log:
        told = [event.fact.clusters for event in log.read() if isinstance(event.fact, Clustered)]
    assert told[0] != first
    assert told == [told[0], told[1], told[0], told[1], told[1]]


def test_trying_out_carries_erasures_over_and_follows_those_that_came_since(lived: Path, tmp_path: Path):
    with Memory.open(lived, embedder="hash", clock=Hourly(LATER)) as memory:
        memory.dream()
        memory.erase("m3")
        memory.recall("auth session")
        memory.compare(embedder=scattered, work=tmp_path / "work")
        for number in range(6, 20):
            memory.revise(f"m{number}", f"zanzibar cookie {number}")
        memory.recall("auth session")
        memory.compare(embedder=scattered, work=tmp_path / "work")
        memory.erase([f"m{number}" for number in range(7, 20)])
        memory.compare(embedder=scattered, work=tmp_path / "work")
        memory.compare(embedder=scattered, work=tmp_path / "anew")
    assert clusters(tmp_path / "work") == clusters(tmp_path / "anew") != []
    assert b"zanzibar cookie 7" not in b"".join(p.read_bytes() for p in (tmp_path / "work").rglob("*.seg"))
    with Memory.open(tmp_path / "work", embedder=None) as fork:
        report = fork.verify()
        assert (report.verdict, report.different) == ("partly", 0)  # the fork's own answers were not attested
        assert {"m3", "m7"}.isdisjoint(memo.id for memo in fork.memories())


def clusters(folder: Path) -> list[Clustered]:
    with Memory.open(folder, embedder=None) as memory:
        facts = [event.fact for event in memory._store.log.read()]
    return [fact for fact in facts if isinstance(fact, Clustered)]


def test_another_embedder_in_a_fork_shows_what_the_switch_would_change(lived: Path, tmp_path: Path):
    before = contents(lived)
    seen: list[tuple[int, int]] = []
    with Memory.open(lived, embedder=None) as memory:
        result = memory.compare(
            embedder=scattered, work=tmp_path / "work", progress=lambda *done: seen.append(done)
        )
        assert seen[-1] == (result.questions, result.questions)
    assert contents(lived) == before
    assert result.metrics["unchanged"] < 1.0
    with SegmentLog.open(tmp_path / "work" / "log", read_only=True) as log:
        for event in log.read():
            match event.fact:
                case Ingested(content=content):
                    assert event.fact.vector == vector(content)
                case Recalled(question=question):
                    assert (question.vector, question.embedder) == (vector(question.text), "scattered")
                case EmbedderAdopted(name=name):
                    assert name == "scattered"
                case _:
                    pass
    with Memory.open(tmp_path / "work", embedder=None) as fork:
        assert fork.verify().exact


def test_trying_out_goes_on_where_it_stopped(lived: Path, tmp_path: Path):
    embedded: list[str] = []

    def counting(texts: list[str]) -> np.ndarray:
        embedded.extend(texts)
        return scattered(texts)

    with Memory.open(lived, embedder=None) as memory:
        once = memory.compare(embedder=counting, work=tmp_path / "work")
        first = len(embedded)
        again = memory.compare(embedder=counting, work=tmp_path / "work")
    assert once == again
    assert set(embedded[first:]) == {PROBE_TEXT}


def test_the_question_of_another_embedder_is_asked_with_a_formula_and_recorded_questions(
    lived: Path, tmp_path: Path
):
    with Memory.open(lived, embedder=None) as memory:
        with pytest.raises(InvalidInput, match="recorded questions"):
            memory.compare(embedder="hash", queries=["auth"])
        with pytest.raises(InvalidInput, match="store's own embedder; with another one, b is a formula"):
            memory.compare("reverie", "recorded", embedder="hash")
        memory.fork(tmp_path / "fork")
        with pytest.raises(InvalidInput, match="is a fork, whose answers are known"):
            memory.compare(tmp_path / "fork", embedder="hash")
        with pytest.raises(InvalidInput, match="`work` is where the fork of another embedder is kept"):
            memory.compare("reverie", "omega", work=tmp_path / "work")
        assert not (tmp_path / "work").exists()


def test_the_commands_try_out_and_switch(lived: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "minilm")  # the store's own is known from its log

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, [*arguments, "--store", str(lived)])
        assert result.exit_code == 0, result.stderr
        return result.stdout

    assert "embedded with hash/1" in run("compare", "--embedder", "hash")
    assert "embedded 0 memories with hash/1" in run("reembed", "--embedder", "hash")


def test_vectors_of_the_new_embedder_are_on_the_grid(lived: Path):
    with Memory.open(lived, embedder="hash") as memory:
        memory.reembed(scattered)
        vectors = memory._store.projections.vectors
        rows = np.arange(memory._store.projections.documents.rows)
        able = rows[vectors.comparable(rows, at=memory.status().head)]
        assert len(able) == 20
        assert all(0 < norm2(vectors.vector(int(row))) <= 4096**2 for row in able)
