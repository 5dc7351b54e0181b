"""Rankings recorded live equal their replay: after more writes, reopening, without caches, in another process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.engine.store import Store
from recollect.events.envelope import draft
from recollect.events.errors import LogDamaged
from recollect.events.facts import Accessed, Downscaled, DreamBegan, DreamEnded, Recalled, Superseded
from recollect.interfaces.python.memory import Memory

WORDS = ["auth", "session", "postgres", "redis", "deploy", "tuesday", "billing", "stripe", "cookie", "login"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
numbers = st.integers(0, 30)
actions = st.one_of(
    st.tuples(st.just("remember"), texts),
    st.tuples(st.just("recall"), texts),
    st.tuples(st.just("revise"), numbers, texts),
    st.tuples(st.just("access"), numbers, st.sampled_from(["s1", "s2", "s3"])),
    st.tuples(st.just("forget"), numbers),
    st.tuples(st.just("restore"), numbers),
    st.tuples(st.just("downscale"), st.sampled_from([0.95, 0.5])),
    st.tuples(st.just("supersede"), numbers, numbers),
)


class Player:
    """Plays random actions on a store; whatever does not apply is skipped."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ids: list[str] = []
        self.hidden: set[str] = set()
        self.answers: list[tuple[str, list[tuple[str, float]]]] = []

    def play(self, action: tuple) -> None:
        name, *rest = action
        getattr(self, name)(*rest)

    def _pick(self, number: int, *, visible: bool = True) -> str | None:
        fitting = [id_ for id_ in self.ids if (id_ not in self.hidden) is visible]
        return fitting[number % len(fitting)] if fitting else None

    def remember(self, text: str) -> None:
        self.ids.append(
            self.memory.remember(text, id=f"m{len(self.ids)}", at=1_700_000_000.0 + len(self.ids))
        )

    def recall(self, text: str) -> None:
        answer = self.memory.recall(text, k=5, session="s9")
        self.answers.append((answer.id, [(hit.id, hit.score) for hit in answer.hits]))

    def revise(self, number: int, text: str) -> None:
        if id_ := self._pick(number):
            self.memory.revise(id_, text)

    def access(self, number: int, session: str) -> None:
        if id_ := self._pick(number):
            self.memory.access(id_, session)

    def forget(self, number: int) -> None:
        if id_ := self._pick(number):
            self.memory.forget(id_)
            self.hidden.add(id_)

    def restore(self, number: int) -> None:
        if id_ := self._pick(number, visible=False):
            self.memory.restore(id_)
            self.hidden.discard(id_)

    def downscale(self, factor: float) -> None:
        name = f"d{self.memory.status().head}"
        self.memory._writer.append([
            DreamBegan(dream=name, basis=0, now=0),
            Downscaled(dream=name, factor=factor, floor=0.01, tagged_factor=1.0),
            DreamEnded(dream=name),
        ])  # fmt: skip

    def supersede(self, old: int, new: int) -> None:
        a, b = self._pick(old), self._pick(new)
        if a and b and a != b:
            self.memory._writer.append([Superseded(old=a, new=b)])
            self.hidden.add(a)


def replayed(memory: Memory) -> list[tuple[str, list[tuple[str, float]]]]:
    """What the log says was answered, after a verification that found no difference."""
    report = memory.verify()
    assert report.exact, report.differences
    found = []
    for seq in memory._store.projections.adoptions.recalls.tolist():
        fact = memory._store.event(seq).fact
        assert isinstance(fact, Recalled)
        found.append((f"r{seq}", list(zip(fact.ids, fact.scores, strict=True))))
    assert report.checked == len(found)
    return found


@settings(max_examples=15)
@given(before=st.lists(actions, min_size=3, max_size=25), after=st.lists(actions, max_size=15))
def test_rankings_replay_exactly_after_more_writes_after_reopening_and_without_caches(
    before: list, after: list
):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Memory.open(path, embedder="hash") as memory:
            player = Player(memory)
            for action in before:
                player.play(action)
            checkpoint_seq = memory.status().head
            memory._store.checkpoint()
            for action in after:
                player.play(action)
            assert replayed(memory) == player.answers
        with Memory.open(path, embedder="hash") as memory:
            assert memory._store._checkpoint_seq == checkpoint_seq
            assert replayed(memory) == player.answers
        shutil.rmtree(path / "cache", ignore_errors=True)
        with Memory.open(path, embedder="hash") as memory:
            assert memory._store._checkpoint_seq == 0
            assert replayed(memory) == player.answers
            assert memory.verify(independent=True).exact


def test_rankings_replay_exactly_in_another_process(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        player = Player(memory)
        for n in range(30):
            player.remember(" ".join(WORDS[(n * k) % 10] for k in (1, 3, 7)))
            player.recall(WORDS[n % 10])
            player.forget(n)
    script = """
import json, sys
from recollect.interfaces.python.memory import Memory
with Memory.open(sys.argv[1], embedder=None) as memory:
    report = memory.verify()
    print(json.dumps([report.exact, report.checked]))
"""
    kept = {name: os.environ[name] for name in ("HOME", "XDG_RUNTIME_DIR")}
    environment = {"PYTHONHASHSEED": "77", "PATH": "/usr/bin:/bin", **kept}
    output = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert json.loads(output.stdout) == [True, 30]


def forge(store: Store, **changes: object) -> None:
    """Append a recall that differs from the last one in what it says was answered."""
    store.catch_up()
    seq = int(store.projections.adoptions.recalls[-1])
    fact = store.event(seq).fact
    store.log.append([draft(msgspec.structs.replace(fact, **changes))])


@pytest.mark.parametrize(
    ("changes", "rank"),
    [
        ({"scores": (0.5, 0.25)}, 1),
        ({"ids": ("b", "a")}, 1),
        ({"ids": ("a",), "scores": None}, 2),
        ({"formula": "0" * 64}, 0),
    ],
)
def test_a_recall_that_was_not_so_is_reported_with_its_rank(tmp_path: Path, changes: dict, rank: int):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth session", id="a")
        memory.remember("auth session postgres", id="b")
        answer = memory.recall("auth session")
        assert [hit.id for hit in answer.hits] == ["a", "b"]
        scores = tuple(hit.score for hit in answer.hits)
        if "scores" in changes and changes["scores"] is None:
            changes = {**changes, "scores": scores[:1]}
        forge(memory._store, **changes)
        report = memory.verify()
        assert (report.exact, report.checked, len(report.differences)) == (False, 2, 1)
        assert report.differences[0].rank == rank


def test_a_score_that_is_off_by_one_bit_is_reported(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth session", id="a")
        score = memory.recall("auth session").hits[0].score
        forge(memory._store, scores=(score * (1 + 2**-52),))
        (difference,) = memory.verify().differences
        assert difference.replayed == ("a", score)


def test_the_second_implementation_names_the_channel_that_differs(tmp_path: Path, monkeypatch):
    with Memory.open(tmp_path, embedder="hash") as memory:
        for n, word in enumerate(WORDS):
            memory.remember(f"{word} session", id=f"m{n}")
        memory.recall("login session")
        assert memory.verify(independent=True).exact
        monkeypatch.setattr(
            "recollect.replay.independent.reference_scores", lambda corpus, *_: [0.0] * len(corpus)
        )
        report = memory.verify(independent=True)
        assert not report.exact
        assert "the lexical channel differs" in report.differences[0].reason


def test_an_access_that_a_recall_caused_names_that_recall(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth session", id="a")
        answer = memory.recall("auth session")
        fact = memory._store.event(memory.status().head).fact
        assert isinstance(fact, Accessed)
        assert (fact.how, fact.ids) == ("returned", ("a",))
        assert answer.id == f"r{memory.status().head - 1}"


def test_a_changed_byte_in_the_log_is_found_with_its_seq(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth session", id="a")
        memory.remember("postgres session", id="b")
        memory.recall("auth session")
        assert memory.verify().damage == ()
    (segment,) = (tmp_path / "log").glob("*.seg")
    data = bytearray(segment.read_bytes())
    place = data.index(b"postgres session")
    data[place] ^= 1
    segment.write_bytes(data)
    with Memory.open(tmp_path, embedder="hash") as memory:
        report = memory.verify()
        assert not report.exact
        assert [finding.seq for finding in report.damage] == [3]
        assert "@3" in memory.status().degraded[0]
        assert [memo.id for memo in memory.memories()] == ["a"]
        with pytest.raises(LogDamaged, match="nothing was cut"):
            memory.remember("more")
