"""Our own formula: what it must do whatever the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine.embedding.minilm import MiniLm
from recollect.interfaces.python.memory import Memory

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
    memory._writer.append([Rated(id="a", verdict="outdated", at=0)])
    assert ids(memory)[:2] == ["b", "a"]


def test_an_outdated_memory_loses_to_the_one_that_supersedes_it(memory):
    memory.remember("Auth sessions are stored in Redis", id="old", at="2026-05-31", importance=1.0)
    memory.access("old")
    memory.remember(ANSWER, id="new", at="2026-03-01")
    memory.supersede("old", "new")
    assert ids(memory) == ["new"]


def test_a_memory_that_was_called_outdated_stands_below_a_better_one_of_the_same_words(memory):
    memory.remember("Auth sessions are stored in Redis", id="old", at="2026-05-31", importance=1.0)
    memory.remember(ANSWER, id="new", at="2026-03-01")
    assert ids(memory)[0] == "old"
    for _ in range(3):
        memory.rate("old", "outdated")
    assert ids(memory)[0] == "new"


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


def test_the_person_asked_about_decides_between_speakers_who_name_each_other(memory):
    memory.remember("Mara: Otto, I want to move to Lisbon", id="mara", session="s", at="2026-03-01")
    memory.remember("Otto: Mara, I want to move to Porto", id="otto", session="s", at="2026-03-01")
    memory.remember("Mara: Porto is small, Otto", id="reply", session="s", at="2026-03-01")
    assert ids(memory, "where does Otto want to move?")[0] == "otto"
    assert ids(memory, "where does Mara want to move?")[0] == "mara"


def test_a_question_that_names_a_time_prefers_the_memories_of_that_time(memory):
    for month in ("03", "04", "05"):
        memory.remember("Mara went hiking with Otto", id=f"hike-{month}", at=f"2026-{month}-10")
    assert ids(memory, "where did Mara go hiking in April 2026?")[0] == "hike-04"
    assert ids(memory, "where did Mara go hiking?")[0] == "hike-05"


def test_a_named_time_does_not_rescue_what_is_not_relevant(memory):
    memory.remember("Mara went hiking with Otto", id="right", at="2026-03-31")
    memory.remember("The boiler was repaired", id="in-april", at="2026-04-10")
    assert ids(memory, "where did Mara go hiking in April 2026?")[0] == "right"


def test_a_word_that_a_memory_begins_with_by_chance_does_not_carry_it(memory):
    memory.remember("Effects of cold on the sleep of lizards", id="chance", at="2026-03-01")
    memory.remember(
        "Coffee shortens sleep: caffeine has an effect for six hours", id="right", at="2026-03-01"
    )
    for n in range(6):
        memory.remember(f"Trial {n} found no effect of light on lizards", at="2026-03-01")
    assert ids(memory, "what effect does caffeine have on sleep?")[0] == "right"


def test_without_sessions_neighbours_and_sessions_add_nothing(memory):
    for n in range(5):
        memory.remember(f"Auth sessions note {n}", id=f"m{n}", at="2026-03-01")
    answer = memory.recall(QUESTION, now=NOW, track=False)
    stages = {stage.op: stage for stage in memory.why(answer.id, "m0").stages}
    assert stages["exchange"].before == stages["exchange"].after
    assert stages["gather"].before == stages["gather"].after


TURNS = [
    ("Ann: I finally adopted a puppy from the shelter, his name is Biscuit", "May"),
    ("Bob: congratulations! Does he get along with your cat?", "May"),
    ("Ann: they sleep in the same basket already", "May"),
    ("Bob: I signed up for the marathon in October", "June"),
    ("Ann: wow, how many miles do you run each week?", "June"),
    ("Bob: about thirty, mostly along the river before work", "June"),
    ("Ann: my sister got married in Lisbon last weekend", "July"),
    ("Bob: did you give a speech?", "July"),
]
ABSTRACTS = [
    "Statins and the risk of stroke. In a cohort of 4,000 patients statin therapy lowered the risk of ischemic stroke.",
    "Gut bacteria shape immunity. Germ-free mice have fewer regulatory T cells, and colonisation restores them.",
    "Sleep consolidates memory. Replay of hippocampal activity during slow-wave sleep predicts recall next day.",
    "Vitamin D and bone density. Supplementation had no effect on fracture rates in a randomised trial of adults.",
    "CRISPR screens find drug targets. Loss of the gene sensitises tumour cells to inhibition of the kinase.",
]
RELATED = {
    "turns": ["What is the name of Ann's dog?", "How far does Bob run every week?", "Where was the wedding?"],
    "abstracts": ["Statins reduce the incidence of stroke.", "The microbiome influences regulatory T cells."],
}
UNRELATED = {
    "turns": [
        "Inhibition of the kinase sensitises tumour cells.",
        "How do I roll back a Kubernetes deployment?",
    ],
    "abstracts": ["How do I roll back a Kubernetes deployment?", "Who won the football world cup in 1998?"],
}


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    return MiniLm()


@pytest.mark.model
@pytest.mark.parametrize("collection", ["turns", "abstracts"])
def test_with_real_vectors_related_questions_are_answered_and_unrelated_ones_are_not(
    tmp_path, minilm, collection: str
):
    with Memory.open(tmp_path, embedder=minilm, formula="recollect") as memory:
        texts = TURNS if collection == "turns" else [(text, None) for text in ABSTRACTS]
        memory.remember_many([{"content": text, "session": session} for text, session in texts])
        for question in RELATED[collection]:
            assert ids(memory, question), question
        for question in UNRELATED[collection]:
            assert ids(memory, question) == [], question


def test_it_replays_exactly(memory):
    for n in range(40):
        memory.remember(f"Note {n} about auth sessions and topic {n % 7}", session=f"s{n % 4}")
        memory.recall(f"what about topic {n % 7}?", session="asking")
    assert memory.verify().exact
    assert memory.verify(independent=True).exact
