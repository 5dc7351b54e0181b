"""labels: a word of the question that memories stand under counts, one that they mention does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory

FORMULA = """
name = "labelled"
stages = [
  { op = "retrieve", channel = "lexical", analyzer = "english/2", variant = "lucene" },
  { op = "labels" },
  { op = "weigh", weights = { labels = 1.0 } },
]
"""


@pytest.fixture
def memory(tmp_path: Path):
    (tmp_path / "labelled.toml").write_text(FORMULA, "utf-8")
    with Memory.open(tmp_path / "store", embedder=None, formula=str(tmp_path / "labelled.toml")) as opened:
        yield opened


def labels(memory: Memory, question: str) -> dict[str, float]:
    return {hit.id: hit.score for hit in memory.recall(question, k=20).hits}


def test_a_label_counts_the_square_of_how_often_the_word_stands_first(memory):
    memory.remember("Ann: we went to the lake", id="a1")
    memory.remember("Ann: the lake was cold", id="a2")
    memory.remember("Bob: did Ann swim in the lake?", id="b1")
    found = labels(memory, "did Ann like the lake?")
    share = 2 / (1 + 3)  # two begin with it, three hold it
    assert found == {"a1": share * share, "a2": share * share, "b1": 0.0}


def test_a_word_that_stands_first_by_chance_counts_next_to_nothing(memory):
    memory.remember("Effects of aspirin on the heart", id="first")
    for n in range(9):
        memory.remember(f"Study {n} of the effect of aspirin", id=f"other{n}")
    found = labels(memory, "aspirin effect")
    assert found["first"] == pytest.approx((1 / (1 + 10)) ** 2)
    assert found["other0"] == 0.0


def test_a_label_that_the_question_does_not_name_counts_nothing(memory):
    memory.remember("Ann: we went to the lake", id="a")
    assert labels(memory, "who went to the lake?") == {"a": 0.0}


def test_case_and_endings_of_the_label_do_not_matter(memory):
    memory.remember("DEPLOYMENTS: every Tuesday", id="a")
    assert labels(memory, "when is the deployment?") == {"a": (1 / (1 + 1)) ** 2}


def test_a_dropped_candidate_is_not_counted(tmp_path):
    dropping = FORMULA.replace(
        '{ op = "labels" }', '{ op = "filter", by = "importance", min = 0.5 }, { op = "labels" }'
    )
    (tmp_path / "f.toml").write_text(dropping, "utf-8")
    with Memory.open(tmp_path / "store", embedder=None, formula=str(tmp_path / "f.toml")) as memory:
        memory.remember("Ann: the lake", id="kept", importance=0.9)
        memory.remember("Bob: Ann at the lake", id="gone", importance=0.1)
        assert labels(memory, "Ann lake") == {"kept": (1 / (1 + 1)) ** 2}


def test_the_explanation_shows_the_label(memory):
    memory.remember("Ann: we went to the lake", id="a")
    answer = memory.recall("did Ann like the lake?")
    stage = memory.why(answer.id, "a").stages[1]
    assert (stage.op, stage.wrote) == ("labels", {"labels": (1 / (1 + 1)) ** 2})
