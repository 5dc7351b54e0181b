"""Our own formula: what it must do whatever the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.memory import Memory

NOW = "2026-06-01T00:00:00Z"
QUESTION = "where are auth sessions stored?"
ANSWER = "Auth sessions are stored in Postgres"


@pytest.fixture
def memory(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash", formula="recollect") as opened:
        yield opened


def ids(memory: Memory, question: str = QUESTION, **options) -> list[str]:
    return [hit.id for hit in memory.recall(question, now=NOW, track=False, **options).hits]


def test_a_clearly_better_old_memory_beats_a_weaker_fresh_one(memory):
    memory.remember(ANSWER, id="old", at="2024-01-01")
    memory.remember("The auth page got a new colour", id="fresh", at="2026-05-31")
    assert ids(memory)[0] == "old"


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"at": "2026-05-30"}, {"at": "2026-01-01"}),
        ({"importance": 0.9}, {"importance": 0.1}),
    ],
)
def test_among_equals_the_fresher_and_the_more_important_wins(memory, better: dict, worse: dict):
    memory.remember(ANSWER, id="a-worse", **{"at": "2026-03-01", **worse})
    memory.remember(ANSWER, id="b-better", **{"at": "2026-03-01", **better})
    assert ids(memory)[:2] == ["b-better", "a-worse"]


def test_among_equals_the_more_used_wins(memory):
    for name in ("a", "b"):
        memory.remember(ANSWER, id=name, at="2026-03-01")
    memory.access("b")
    assert ids(memory)[:2] == ["b", "a"]


def test_five_hundred_accesses_and_top_priority_do_not_beat_the_right_answer(memory):
    memory.remember(ANSWER, id="right", at="2024-01-01", importance=0.0)
    memory.remember("The auth page got a new colour", id="loved", at="2026-05-31", importance=1.0, priority=5)
    for _ in range(500):
        memory.access("loved")
    assert ids(memory)[0] == "right"


def test_blame_pushes_a_memory_below_its_equal(memory):
    from recollect.events.facts import Rated

    for name in ("a", "b"):
        memory.remember(ANSWER, id=name, at="2026-03-01")
    memory._append([Rated(id="a", verdict="outdated", at=0)])
    assert ids(memory)[:2] == ["b", "a"]


def test_an_unrelated_question_gets_nothing(memory):
    memory.remember(ANSWER, id="a")
    memory.remember("Deploys happen on Tuesdays", id="b")
    answer = memory.recall("qwzx vbnm plokij", now=NOW)
    assert answer.hits == ()
    assert answer.facts["silence"] == "true"


def test_without_vectors_one_matching_word_is_enough_to_answer(tmp_path):
    with Memory.open(tmp_path, embedder=None, formula="recollect") as words_only:
        words_only.remember("Deploys happen on Tuesdays", id="a")
        assert ids(words_only, "who decided on which day we deploy the billing service?") == ["a"]


def test_the_turn_beside_a_match_is_found_and_a_turn_of_another_session_is_not(memory):
    memory.remember("Ann: when did you adopt your puppy?", id="question", session="s1", at="2026-03-01")
    memory.remember("Bob: on the third of May, from a shelter", id="answer", session="s1", at="2026-03-01")
    memory.remember("Bob: it rained all afternoon", id="other", session="s2", at="2026-03-01")
    found = ids(memory, "when did Bob adopt a puppy?")
    assert found.index("answer") < found.index("other")


def test_a_memory_that_begins_with_the_one_asked_about_is_preferred(memory):
    memory.remember("Mara: we should move to Lisbon", id="mara", at="2026-03-01")
    memory.remember("Otto: we should move to Lisbon", id="otto", at="2026-03-01")
    assert ids(memory, "where does Otto want to move?")[0] == "otto"


def test_it_replays_exactly(memory):
    for n in range(40):
        memory.remember(f"Note {n} about auth sessions and topic {n % 7}", session=f"s{n % 4}")
        memory.recall(f"what about topic {n % 7}?", session="asking")
    assert memory.verify().exact
    assert memory.verify(independent=True).exact
