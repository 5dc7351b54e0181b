"""What decided is named in plain words, the largest difference to the next memory first."""

from __future__ import annotations

import pytest

from recollect.interfaces.python.memory import Memory

WEIGHTED = """
name = "weighted"
stages = [
  {{ op = "retrieve", channel = "lexical", analyzer = "english/2", top = 100 }},
  {{ op = "normalise", column = "lexical", method = "max", name = "words" }},
  {{ op = "weigh", weights = {{ words = {words}, importance = {importance} }} }},
]
"""


def formula(tmp_path, *, words: float, importance: float) -> str:
    path = tmp_path / f"weighted-{words}.toml"
    path.write_text(WEIGHTED.format(words=words, importance=importance), "utf-8")
    return str(path)


@pytest.fixture
def deployments(memory: Memory) -> Memory:
    memory.remember("Deployments are deployed by deploying on Tuesday", id="words", importance=0.1)
    memory.remember(
        "Nothing is deployed at night, at weekends or in the holidays", id="important", importance=0.9
    )
    return memory


def test_a_sum_whose_largest_part_is_importance_says_so(deployments, tmp_path):
    answer = deployments.recall("deploying", formula=formula(tmp_path, words=0.2, importance=2.0))
    first, second = (deployments.why(answer.id, hit.id) for hit in answer.hits)
    assert (first.id, second.id) == ("important", "words")
    assert first.sentence.startswith("Ranked 1st of 2: importance (0.9 against 0.1);")
    assert (first.against, first.reasons[0].name, first.reasons[0].number) == ("words", "importance", 3)
    assert first.reasons[0].effect == pytest.approx(2.0 * (0.9 - 0.1))
    assert second.sentence.startswith("Ranked 2nd of 2: behind by importance (0.1 against 0.9);")


def test_words_are_named_as_the_question_writes_them_never_as_stems(deployments, tmp_path):
    answer = deployments.recall("deploying", formula=formula(tmp_path, words=5.0, importance=0.1))
    assert answer.hits[0].id == "words"
    explanation = deployments.why(answer.id, "words")
    assert explanation.sentence.startswith("Ranked 1st of 2: words matched 'deploying' (1st by words);")
    assert explanation.channels[0].terms[0].term == "deploi"
    assert explanation.channels[0].words == ("deploying",)


def test_a_memory_below_the_last_hit_is_compared_with_it(deployments, tmp_path):
    answer = deployments.recall("deploying", k=1, formula=formula(tmp_path, words=0.2, importance=2.0))
    missed = deployments.why(answer.id, "words")
    assert missed.rank is None
    assert missed.sentence.endswith("; important was ahead by importance (0.1 against 0.9).")
    assert missed == deployments.why_not(answer.id, "words")


def test_a_memory_alone_is_told_by_its_largest_part(memory, tmp_path):
    memory.remember("Deploys happen on Tuesday", id="only", importance=0.9)
    answer = memory.recall("deploys", formula=formula(tmp_path, words=0.1, importance=3.0))
    explanation = memory.why(answer.id, "only")
    assert explanation.reasons[0].name == "importance"
    assert "importance (0.9 against 0)" in explanation.sentence
    assert explanation.sentence.endswith("the only one.")


def test_a_memory_alone_that_was_never_rated_is_not_told_by_its_ratings(memory):
    memory.remember("Deploys happen on Tuesday", id="only")
    explanation = memory.why(memory.recall("deploys", formula="recollect").id, "only")
    assert "feedback_factor" not in [reason.name for reason in explanation.reasons]
    assert explanation.sentence.startswith("Ranked 1st of 1: words matched 'deploys' ")
