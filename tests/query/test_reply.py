"""reply: what stands beside a match in its session gets a share, what follows it another than what precedes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory
from recollect.query.explanation import reproduce
from recollect.query.formula import load

FORMULA = """
name = "replying"
stages = [
  { op = "retrieve", channel = "lexical" },
  { op = "admit" },
  { op = "weigh", weights = { importance = 1.0 } },
  { op = "reply", before = 0.5, after = 0.25 },
]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "replying.toml").write_text(FORMULA, "utf-8")
    return tmp_path / "replying.toml"


@pytest.fixture
def memory(tmp_path: Path, path: Path):
    with Memory.open(tmp_path / "store", embedder=None, formula=str(path)) as opened:
        yield opened


def scores(memory: Memory, question: str = "puppy") -> dict[str, float]:
    return {hit.id: hit.score for hit in memory.recall(question, k=20, track=False).hits}


def test_the_better_of_both_shares_is_added(memory):
    memory.remember("a puppy", id="one", session="s", importance=0.8)
    memory.remember("yes, in May", id="two", session="s", importance=0.2)
    memory.remember("the puppy sleeps", id="three", session="s", importance=0.6)
    assert scores(memory) == {
        "one": pytest.approx(0.8 + max(0.0, 0.25 * 0.2)),
        "two": pytest.approx(0.2 + max(0.5 * 0.8, 0.25 * 0.6)),
        "three": pytest.approx(0.6 + max(0.5 * 0.2, 0.0)),
    }


def test_without_a_session_nothing_is_added(memory):
    memory.remember("a puppy", id="one", importance=0.8)
    memory.remember("the puppy sleeps", id="two", importance=0.6)
    assert scores(memory) == {"one": 0.8, "two": 0.6}


def test_a_neighbour_of_another_session_or_a_forgotten_one_adds_nothing(memory):
    memory.remember("a puppy", id="one", session="s", importance=0.8)
    memory.remember("puppy food", id="gone", session="s", importance=1.0)
    memory.remember("the puppy sleeps", id="other", session="t", importance=0.6)
    memory.forget("gone")
    assert scores(memory) == {"one": 0.8, "other": 0.6}


def test_with_equal_shares_it_is_echo(tmp_path, path):
    even = FORMULA.replace("before = 0.5, after = 0.25", "before = 0.3, after = 0.3")
    echo = FORMULA.replace('{ op = "reply", before = 0.5, after = 0.25 }', '{ op = "echo", share = 0.3 }')
    with Memory.open(tmp_path / "store", embedder=None, formula=str(path)) as memory:
        for n in range(12):
            memory.remember(f"puppy {n}", id=f"m{n:02}", session=f"s{n % 3}", importance=(n * 7 % 10) / 10)
        found = []
        for text in (even, echo):
            path.write_text(text.replace("replying", f"f{len(found)}"), "utf-8")
            found.append(
                [(h.id, h.score) for h in memory.recall("puppy", formula=str(path), track=False).hits]
            )
        assert found[0] == found[1]


def test_the_explanation_gives_the_score_again(memory, path):
    memory.remember("a puppy", id="one", session="s", importance=0.8)
    memory.remember("yes, in May", id="two", session="s", importance=0.2)
    answer = memory.recall("puppy")
    told = memory.why(answer.id, "two")
    assert told.stages[3].reads == {"before": 0.8, "after": 0.0}
    assert reproduce(told, load(path)) == told.score == pytest.approx(0.2 + 0.5 * 0.8)
