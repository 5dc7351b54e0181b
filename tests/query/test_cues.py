"""What a question is after, by cue words: tables of examples in several scripts, whole words only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query.dials import CLASSIFIERS
from recollect.query.text.intents import Cues, question_intent, recency_intent

RECENCY = {
    "what did we decide today": "high",
    "the LATEST build number": "high",
    "what's the most recent deploy?": "high",
    "is the migration still running": "high",
    "explain what happened yesterday": "high",
    "was ist heute passiert": "high",
    "qu'est-ce qui a changé récemment": "high",
    "что изменилось сегодня": "high",
    "最近の変更": "high",
    "今天的会议": "high",
    "오늘 회의": "high",
    "اجتماع اليوم": "high",
    "explain the retry policy": "low",
    "what does idempotent mean": "low",
    "how does the cache work": "low",
    "In General, who owns billing?": "low",
    "definición de token": "low",
    "什么是令牌": "low",
    "redis password rotation": "medium",
    "who owns billing": "medium",
    "the knowledge base": "medium",
    "snow in the nowhere": "medium",
    "": "medium",
}

INTENT = {
    "what changed today": "recent",
    "why did the latest deploy fail": "recent",
    "why did the deploy fail": "analytical",
    "compare redis and postgres": "analytical",
    "redis vs postgres": "analytical",
    "what depends on the billing service": "analytical",
    "warum ist der Dienst langsam": "analytical",
    "为什么失败": "analytical",
    "which editor does Ada prefer": "preference",
    "my favourite tea": "preference",
    "should we use tabs": "preference",
    "她喜欢什么": "preference",
    "who owns billing": "factual",
    "how many replicas are there": "factual",
    "wann ist das Treffen": "factual",
    "сколько реплик": "factual",
    "いつ会議ですか": "factual",
    "redis password rotation": "hybrid",
    "the whole wherewithal": "hybrid",
    "": "hybrid",
}


@pytest.mark.parametrize(("text", "intent"), RECENCY.items())
def test_how_much_a_question_wants_what_is_new(text: str, intent: str):
    assert recency_intent(text) == intent


@pytest.mark.parametrize(("text", "intent"), INTENT.items())
def test_what_kind_of_answer_a_question_wants(text: str, intent: str):
    assert question_intent(text) == intent


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("who is it", True),
        ("WHO?", True),
        ("the whole", False),
        ("right now", True),
        ("right, now", True),
        ("right and now", False),
        ("now right", False),
        ("", False),
    ],
)
def test_a_cue_is_found_as_whole_words_in_order(text: str, found: bool):
    assert Cues("who; right now").found_in(text) is found


@given(text=st.text())
def test_every_text_has_an_intent_and_the_same_one_in_any_case_and_spacing(text: str):
    assert recency_intent(text) in ("high", "medium", "low")
    assert recency_intent(f"  {text} ") == recency_intent(text)
    assert (question_intent(text) == "recent") == (recency_intent(text) == "high")


def test_the_classifiers_have_names_that_formulas_use():
    assert CLASSIFIERS["recency-intent/1"] is recency_intent
    assert CLASSIFIERS["question-intent/1"] is question_intent
