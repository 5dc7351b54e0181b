"""An interruption at any step leaves no torn projections: they are neither read nor saved, but folded again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from recollect.engine import store as stores
from recollect.engine.doctor import doctor
from recollect.engine.doctor_caches import _differs
from recollect.engine.embedding.embedder import HashEmbedder
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.recall import rank_at
from recollect.engine.store import Store
from recollect.events.facts import AnyFact, Question
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory
from recollect.projections.adoptions import Adoptions
from recollect.projections.documents import Documents
from recollect.projections.graph.graph import Graph
from recollect.projections.lexical.index import Lexical
from recollect.projections.lifecycle.lifecycle import Lifecycle
from recollect.projections.sessions import Conversations, Sessions
from recollect.projections.vectors.embeddings import Embeddings
from recollect.projections.vectors.index import Vectors
from recollect.projections.view import Projections, View
from recollect.query import formula as formulas

Open = Callable[..., Memory]
FORMULA = formulas.load("recollect")
FOLDED_BEFORE = 4
STEPS = [
    (Documents, "apply"), (Documents, "births"), (Lexical, "add"), (Lexical, "add_many"), (Vectors, "add"),
    (Vectors, "add_many"), (Vectors, "apply"), (Lifecycle, "apply"), (Lifecycle, "births"), (Graph, "apply"),
    (Adoptions, "apply"), (Sessions, "apply"), (Conversations, "apply"), (Conversations, "born"),
]  # fmt: skip


class Interrupted:
    """Counts the steps of a fold, and interrupts right after the one that it was told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        self.after: int | None = None
        for owner, name in STEPS:
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, step: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object) -> object:
            result = step(*arguments)
            self.steps += 1
            if self.steps == self.after:
                self.after = None
                raise KeyboardInterrupt
            return result

        return run

    def arm(self, after: int | None) -> None:
        self.steps, self.after = 0, after


@pytest.fixture
def facts(open_memory: Open) -> list[AnyFact]:
    """A small life: single memories and runs of them, new versions, accesses, links, recalls."""
    with open_memory("life") as memory:
        memory.remember("sencha is a green tea", id="a", session="s")
        memory.remember("oolong is half fermented", id="b", session="s")
        memory.recall("green tea", session="s")
        memory.remember_many([{"content": f"note {n} about tea", "id": f"n{n}"} for n in range(3)])
        memory.access("a", session="s")
        memory.revise("b", "oolong is fermented by half")
        memory.link("a", "b", "about")
        memory.forget("n1")
        memory.restore("n1")
        memory.remember_many(["the last two", "come in a run"])
        return [recorded.fact for recorded in memory.store.log.read()]


def told(folder: Path, facts: Sequence[AnyFact]) -> Store:
    """A store that has folded the first few of these facts; the others wait in its log."""
    store = Store.open(folder, analyzers=FORMULA.analyzers)
    store.append(facts[:FOLDED_BEFORE])
    store.catch_up()
    store.append(facts[FOLDED_BEFORE:])
    return store


def assert_as_the_log_says(store: Store) -> None:
    """Every array is what folding the log anew gives, and a question gets the same ranking."""
    view = store.view()
    anew = Projections(list(store.projections.lexicals))
    for recorded in store.log.read():
        anew.apply(recorded)
    ours, theirs = store.projections.dump(), anew.dump()
    assert [key for key in ours.keys() | theirs.keys() if _differs(key, ours, theirs)] == []
    assert ranking(store, view) == ranking(store, anew.at(view.seq, view.time))


def ranking(store: Store, view: View) -> list[tuple[str, float]]:
    (vector,) = Embedding(HashEmbedder(), None).vectors(["green tea"])
    question = Question(text="green tea", now=view.time, k=10, vector=vector, embedder="hash")
    _, found = rank_at(store, question, view, FORMULA)
    assert len(found.ids) > 0
    return list(zip(found.ids, found.scores, strict=True))


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Interrupted:
    return Interrupted(monkeypatch)


@pytest.fixture
def always_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is closed leaves a checkpoint, however few its events."""
    monkeypatch.setattr(stores, "_CHECKPOINT_EVERY", 1)


def steps_of(step: Interrupted, facts: list[AnyFact], folder: Path) -> range:
    store = told(folder, facts)
    step.arm(None)
    store.catch_up()
    steps = step.steps
    store.close()
    assert steps > 2 * (len(facts) - FOLDED_BEFORE)
    return range(1, steps + 1)


@pytest.mark.usefixtures("always_saved")
def test_after_every_step_of_a_fold_this_process_and_the_next_see_what_the_log_says(
    facts: list[AnyFact], step: Interrupted, tmp_path: Path
):
    for after in steps_of(step, facts, tmp_path / "whole"):
        store = told(tmp_path / str(after), facts)
        step.arm(after)
        with pytest.raises(KeyboardInterrupt):
            store.catch_up()
        assert_as_the_log_says(store)
        store.close()
        assert doctor(tmp_path / str(after)).healthy
        with closing(Store.open(tmp_path / str(after))) as again:
            assert again.checkpoint_age_events == 0
            assert_as_the_log_says(again)


@pytest.mark.usefixtures("always_saved")
def test_a_store_that_is_closed_after_an_interruption_saves_nothing_and_reads_nothing(
    facts: list[AnyFact], step: Interrupted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for after in steps_of(step, facts, tmp_path / "whole"):
        folder = tmp_path / str(after)
        store = told(folder, facts)
        step.arm(after)
        with pytest.raises(KeyboardInterrupt):
            store.catch_up()
        with monkeypatch.context() as patch:
            patch.setattr(SegmentLog, "read", lambda *_: pytest.fail("a long way to close"))
            store.close()
        assert not (folder / "cache/checkpoints").exists()
        with closing(Store.open(folder, analyzers=FORMULA.analyzers)) as again:
            assert_as_the_log_says(again)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, AssertionError])
def test_whatever_ends_a_fold_it_begins_again_from_the_checkpoint(
    facts: list[AnyFact], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
):
    store = told(tmp_path / "store", facts)
    with monkeypatch.context() as patch:
        patch.setattr(Lifecycle, "apply", raising(error))
        with pytest.raises(error):
            store.catch_up()
    store.checkpoint()
    store.append(facts[-1:])
    with monkeypatch.context() as patch:
        patch.setattr(Lifecycle, "apply", raising(error))
        with pytest.raises(error):
            store.catch_up()
    read: list[int] = []
    base = SegmentLog.read
    with monkeypatch.context() as patch:
        patch.setattr(
            SegmentLog, "read", lambda log, after, upto: read.append(after) or base(log, after, upto)
        )
        store.catch_up()
    assert read == [len(facts)]
    assert_as_the_log_says(store)
    store.close()


def test_a_question_that_was_interrupted_while_vectors_are_stored_loses_none(
    facts: list[AnyFact], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = told(tmp_path / "store", facts)
    view = store.view()
    with monkeypatch.context() as patch:
        patch.setattr(Embeddings, "_store", raising(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ranking(store, view)
    assert_as_the_log_says(store)
    store.close()


def test_an_erasure_that_was_interrupted_before_it_was_finished_is_finished_by_the_next_reading(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    memory = open_memory()
    memory.remember("a secret tea", id="a")
    memory.remember("a common tea", id="b")
    with monkeypatch.context() as patch:
        patch.setattr(Store, "_finish_erasures", raising(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memory.erase("a")
    assert memory.get("a").content == "[erased]"
    (segment,) = (memory.store.folder / "log").glob("*.seg")
    assert b"secret" not in segment.read_bytes()


@pytest.mark.usefixtures("always_saved")
def test_a_program_that_is_interrupted_saves_no_checkpoint(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt), Memory.open(tmp_path / "store", embedder="hash") as memory:
        interrupt(memory.remember("tea"))
    assert not (tmp_path / "store/cache/checkpoints").exists()
    with Memory.open(tmp_path / "store", embedder="hash"):
        pass
    assert len(list((tmp_path / "store/cache/checkpoints").iterdir())) == 1


def interrupt(_: object) -> None:
    raise KeyboardInterrupt


def raising(error: type[BaseException]) -> Callable[..., None]:
    def stop(*_: object) -> None:
        raise error

    return stop


# Recalls interrupted at random moments; after each, another thread must get the lock, and the answer must be the same.
# The clock stands still: as it passes, memories of almost the same score change places by right.
INTERRUPTED = """
import random, signal, time
from concurrent.futures import ThreadPoolExecutor
from recollect.interfaces.python.memory import Memory

def free():
    taken = memory.store.lock.acquire(timeout=30)
    if taken:
        memory.store.lock.release()
    return taken

def interrupt(*_):
    raise KeyboardInterrupt

memory = Memory.open(":memory:", embedder="hash", clock=lambda: 1_763_000_000_000_000)
memory.remember_many([f"cats and dogs {number}" for number in range(50)])
expected = memory.recall("cats", record=False).hits
signal.signal(signal.SIGALRM, interrupt)
interrupted = 0
with ThreadPoolExecutor(1) as other:
    for _ in range(300):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005 + random.random() * 0.005)
            end = time.monotonic() + 0.05  # one that comes in a finaliser is lost
            while time.monotonic() < end:
                memory.recall("cats", record=False)
        except KeyboardInterrupt:
            assert other.submit(free).result()
            interrupted += 1
        assert memory.recall("cats", record=False).hits == expected
print(interrupted > 100)
"""


def test_no_interruption_leaves_the_lock_held_or_changes_an_answer(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr
