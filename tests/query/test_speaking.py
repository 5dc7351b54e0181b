"""Who speaks, who asks and when: the inputs and stages that the default reads a conversation with.

Every expected value is computed beside it by the document's formula, straight from the texts.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.query.explanation import reproduce
from recollect.query.formula import load
from recollect.query.inputs import FIRST_PERSON
from recollect.query.text.dates import asks_when, time_terms

TALK = [
    ("one", "Ann: did you ever have a puppy?", "s"),
    ("two", "Bob: yes, in May", "s"),
    ("three", "Bob: it was a puppy from the shelter", "s"),
    ("four", "Ann: lovely", "s"),
    ("five", "Carl: my puppy is two years old, is yours?", "t"),
    ("six", "the puppy stands alone", None),
]


def opened(tmp_path: Path, *stages: str) -> Memory:
    head = '{ op = "retrieve", channel = "lexical", analyzer = "english/2", variant = "lucene" }, { op = "admit" }'
    text = f'name = "own"\nstages = [{head}, {", ".join(stages)}]'
    (tmp_path / "own.toml").write_text(text, "utf-8")
    return Memory.open(tmp_path / "store", embedder=None, formula=str(tmp_path / "own.toml"))


def boosted(name: str, amount: str = "1.0") -> tuple[str, str]:
    return (
        '{ op = "weigh", weights = { importance = 0.0 } }',
        f'{{ op = "boost", amounts = {{ {name} = {amount} }} }}',
    )


def scores(memory: Memory, question: str = "puppy") -> dict[str, float]:
    return {hit.id: hit.score for hit in memory.recall(question, k=20, track=False).hits}


def tell(memory: Memory) -> None:
    for id_, text, session in TALK:
        memory.remember(text, id=id_, session=session)


# --- under_label -------------------------------------------------------------------------------------


def test_a_speaker_that_the_question_names_counts_in_full(tmp_path):
    with opened(tmp_path, *boosted("under_label")) as memory:
        tell(memory)
        assert scores(memory, "Which puppy did Bob have?") == {
            "one": 0.0, "two": 1.0, "three": 1.0, "four": 0.0, "five": 0.0, "six": 0.0,
        }  # fmt: skip


def test_a_label_of_notes_counts_the_more_the_more_share_it(tmp_path):
    with opened(tmp_path, *boosted("under_label")) as memory:
        for n in range(3):
            memory.remember(f"Decision: no puppy {n}", id=f"d{n}")
        memory.remember("a puppy against our decision", id="other")
        assert scores(memory, "which decision on the puppy?") == {
            **{f"d{n}": pytest.approx(1 - 1 / 3) for n in range(3)}, "other": 0.0,
        }  # fmt: skip


def test_a_label_of_one_memory_is_the_beginning_of_a_title(tmp_path):
    with opened(tmp_path, *boosted("under_label")) as memory:
        memory.remember("Aspirin: effects on the heart", id="title")
        memory.remember("the effects of aspirin", id="other")
        assert scores(memory, "aspirin effects") == {"title": 0.0, "other": 0.0}


def test_case_possessives_and_endings_of_the_label_do_not_matter(tmp_path):
    with opened(tmp_path, *boosted("under_label")) as memory:
        for n in range(4):
            memory.remember(f"elise: puppy {n}", id=f"m{n}")
        assert set(scores(memory, "Elise's puppies").values()) == {1 - 1 / 4}


def test_a_label_of_stop_words_alone_is_compared_as_it_is_written(tmp_path):
    with opened(tmp_path, *boosted("under_label")) as memory:
        memory.remember("Will: a puppy", id="a")
        memory.remember("Will: another puppy", id="b")
        assert scores(memory, "Which puppy has Will?") == {"a": 1 - 1 / 2, "b": 1 - 1 / 2}
        assert scores(memory, "Which puppy has Ann?") == {"a": 0.0, "b": 0.0}


# --- asking ------------------------------------------------------------------------------------------


def test_only_a_question_under_a_label_is_marked_as_asking(tmp_path):
    with opened(tmp_path, *boosted("asking", "-0.5")) as memory:
        tell(memory)
        memory.remember("a puppy?", id="unlabelled")
        found = scores(memory)
        assert {id_ for id_, score in found.items() if score} == {"one", "five"}
        assert found["one"] == -0.5


# --- by_asker ----------------------------------------------------------------------------------------


def test_a_question_in_the_first_person_asks_for_what_the_user_said(tmp_path):
    with opened(tmp_path, *boosted("by_asker")) as memory:
        memory.remember("I have a puppy", id="user", tags=["user", "pets"])
        memory.remember("A puppy needs walks", id="assistant", tags=["assistant"])
        memory.remember("puppy food", id="note")
        assert scores(memory, "What is my puppy's name?") == {"user": 1.0, "assistant": 0.0, "note": 0.0}
        assert set(scores(memory, "What does a puppy need?").values()) == {0.0}


@pytest.mark.parametrize(
    "text", ["Did I?", "my plan", "What should we do?", "Was habe ich gesagt?", "我的计划", "мой план"]
)
def test_the_first_person(text: str):
    assert FIRST_PERSON.found_in(text, "unicode61-cjk/2")


@pytest.mark.parametrize("text", ["Did she?", "the mystery of it", "", "Inés y Mia", "imagine"])
def test_other_persons(text: str):
    assert not FIRST_PERSON.found_in(text, "unicode61-cjk/2")


# --- tells_time --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["When did Ann move?", "when", "What year was it?", "In which month do they meet?", "How long did it take?",
             "Do you know when was the race?"],
)  # fmt: skip
def test_questions_for_a_time(text: str):
    assert asks_when(text)


@pytest.mark.parametrize(
    "text", ["What did Ann do when she was sad?", "Cells die when heated.", "whenever", ""]
)
def test_questions_that_ask_for_no_time(text: str):
    assert not asks_when(text)


def test_what_tells_a_time_counts_if_one_is_asked_for(tmp_path):
    with opened(tmp_path, '{ op = "tells_time" }', *boosted("tells_time")) as memory:
        texts = {
            "day": "puppy on Friday", "ago": "a puppy two weeks ago", "year": "puppy since 2021", "nth": "puppy, the 3rd",
            "none": "a puppy of mine", "may": "it may be a puppy",
        }  # fmt: skip
        for id_, text in texts.items():
            memory.remember(text, id=id_)
        terms = set(time_terms("english/2"))
        expected = {
            id_: float(not terms.isdisjoint(ANALYZERS["english/2"](text))) for id_, text in texts.items()
        }
        assert scores(memory, "When did she get the puppy?") == expected
        assert [id_ for id_, value in expected.items() if not value] == ["none", "may"]
        assert set(scores(memory, "Where is the puppy?").values()) == {0.0}


# --- exchange ----------------------------------------------------------------------------------------

EXCHANGE = '{ op = "exchange", asked = 0.7, before = 0.2, after = 0.3 }'
IMPORTANT = '{ op = "weigh", weights = { importance = 1.0 } }'


def test_the_answer_to_another_speakers_question_gets_the_larger_share(tmp_path):
    with opened(tmp_path, IMPORTANT, EXCHANGE) as memory:
        memory.remember("Ann: did you have a puppy?", id="one", session="s", importance=0.8)
        memory.remember("Bob: yes", id="two", session="s", importance=0.2)
        memory.remember("Bob: a puppy? or a dog", id="three", session="s", importance=0.6)
        memory.remember("Bob: well", id="four", session="s", importance=0.1)
        assert scores(memory) == {
            "one": pytest.approx(0.8 + 0.3 * 0.2),
            "two": pytest.approx(0.2 + max(0.7 * 0.8, 0.3 * 0.6)),
            "three": pytest.approx(0.6 + max(0.2 * 0.2, 0.3 * 0.1)),
            "four": pytest.approx(0.1 + 0.2 * 0.6),  # his own question
        }


def test_without_labels_a_question_before_is_a_turn_like_others(tmp_path):
    with opened(tmp_path, IMPORTANT, EXCHANGE) as memory:
        memory.remember("a puppy?", id="one", session="s", importance=0.8)
        memory.remember("yes", id="two", session="s", importance=0.2)
        assert scores(memory)["two"] == pytest.approx(0.2 + 0.2 * 0.8)


def test_turns_with_a_role_get_nothing_from_each_other(tmp_path):
    with opened(tmp_path, IMPORTANT, EXCHANGE) as memory:
        memory.remember("a puppy?", id="one", session="s", importance=0.8, tags=["user"])
        memory.remember("yes", id="two", session="s", importance=0.2, tags=["assistant"])
        assert scores(memory) == {"one": 0.8, "two": 0.2}


def test_a_forgotten_question_is_not_answered(tmp_path):
    with opened(tmp_path, IMPORTANT, EXCHANGE) as memory:
        memory.remember("Ann: a puppy?", id="one", session="s", importance=0.8)
        memory.remember("Bob: a puppy", id="two", session="s", importance=0.2)
        memory.forget("one")
        assert scores(memory) == {"two": 0.2}


def test_the_explanation_gives_the_score_again(tmp_path):
    with opened(tmp_path, IMPORTANT, EXCHANGE) as memory:
        memory.remember("Ann: a puppy?", id="one", session="s", importance=0.8)
        memory.remember("Bob: yes", id="two", session="s", importance=0.2)
        told = memory.why(memory.recall("puppy").id, "two")
        assert told.stages[3].reads == {"asked": 1.0, "before": 0.8, "after": 0.0}
        assert reproduce(told, load(tmp_path / "own.toml")) == told.score == pytest.approx(0.2 + 0.7 * 0.8)
        assert memory.verify().exact


# --- around and coverage -----------------------------------------------------------------------------


def terms_of(text: str) -> list[str]:
    return ANALYZERS["english/2"](text)


def idf(term: str, texts: list[str]) -> float:
    df = sum(term in terms_of(text) for text in texts)
    return math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))


def test_the_words_around_a_turn_are_those_of_its_neighbours_too(tmp_path):
    with opened(tmp_path, '{ op = "around" }', '{ op = "weigh", weights = { around = 1.0 } }') as memory:
        tell(memory)
        texts = [text for _, text, _ in TALK]
        mean = sum(len(terms_of(text)) for text in texts) / len(texts)
        expected = dict.fromkeys((id_ for id_, _, _ in TALK), 0.0)
        talk = texts[:4]
        for n, (id_, _, _) in enumerate(TALK[:4]):
            beside = talk[max(n - 1, 0) : n + 2]
            held = [term for text in beside for term in terms_of(text)]
            norm = 0.9 * (1 - 0.4 + 0.4 * (len(held) / len(beside)) / mean)
            expected[id_] = sum(
                idf(term, texts) * held.count(term) / (held.count(term) + norm)
                for term in dict.fromkeys(terms_of("puppy shelter puppy"))
            )
        assert scores(memory, "puppy shelter puppy") == pytest.approx(expected)
        assert expected["four"] > 0.0  # it holds none of the words itself
        assert memory.verify(independent=True).exact


def test_roles_and_hidden_turns_have_nothing_around_them(tmp_path):
    with opened(tmp_path, '{ op = "around" }', '{ op = "weigh", weights = { around = 1.0 } }') as memory:
        memory.remember("a puppy", id="one", session="s", tags=["user"])
        memory.remember("good", id="two", session="s", tags=["assistant"])
        memory.remember("Ann: puppy", id="three", session="t")
        memory.remember("Bob: puppy", id="gone", session="t")
        memory.forget("gone")
        assert scores(memory) == {"one": 0.0, "two": 0.0, "three": 0.0}


def test_coverage_is_the_share_of_the_questions_idf(tmp_path):
    with opened(tmp_path, '{ op = "coverage" }', '{ op = "weigh", weights = { covered = 1.0 } }') as memory:
        tell(memory)
        texts = [text for _, text, _ in TALK]
        asked = dict.fromkeys(terms_of("the puppy from the shelter, a unicorn"))
        whole = sum(idf(term, texts) for term in asked)
        expected = {
            id_: sum(idf(term, texts) for term in asked if term in terms_of(text)) / whole
            for id_, text, _ in TALK
        }
        assert scores(memory, "the puppy from the shelter, a unicorn") == pytest.approx(expected)
        assert memory.verify(independent=True).exact
