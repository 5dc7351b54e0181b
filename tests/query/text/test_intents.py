"""What a question is after: tables of examples."""

from __future__ import annotations

import pytest

from recollect.query.dials import CLASSIFIERS
from recollect.query.text.intents import keyword_sufficient, omega_intent, omega_preference

FACTUAL = (
    "what was", "what is", "what are", "which", "when did", "when was", "who", "where", "did we", "did i",
    "was there", "is there", "decision about", "preference for", "error with", "bug in", "remind me", "remember",
)  # fmt: skip
CONCEPTUAL = (
    "how does", "how do", "how to", "why does", "why do", "why is", "explain", "understand", "overview",
    "architecture", "design", "pattern", "approach", "strategy", "concept",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "the `retry` flag",
        "look at /etc/hosts",
        "./run.sh fails",
        "~/notes are gone",
        "src/query/main.py",
        '"exactly these words"',
        "“exactly these words”",
        "「この言葉」",
        "SqliteStore crash",
        "getUserName",
        "query_hint",
        "mem-4c9e8659",
        "v0.10.2",
        "release 1.5",
        "https://example.org",
        "4c9e8659ab",
    ],
)
def test_code_paths_quotes_and_identifiers_are_navigational(text: str):
    assert keyword_sufficient(text)
    assert omega_intent(f"what is {text}" if text[0] not in '"“「' else text) == "NAVIGATIONAL"


@pytest.mark.parametrize(
    "text",
    [
        "and/or",
        "he/she said",
        "a plain question",
        'he said "yes" twice',
        "NASA and IBM",
        "3 apples",
        "日本語",
        "",
    ],
)
def test_ordinary_words_are_not_keywords(text: str):
    assert not keyword_sufficient(text)


@pytest.mark.parametrize("phrase", FACTUAL)
def test_each_factual_phrase_makes_a_question_factual_in_any_case(phrase: str):
    assert omega_intent(f"so {phrase.upper()} it") == "FACTUAL"


@pytest.mark.parametrize("phrase", CONCEPTUAL)
def test_each_conceptual_phrase_makes_a_question_conceptual(phrase: str):
    assert omega_intent(f"so {phrase} it") == "CONCEPTUAL"


@pytest.mark.parametrize(
    "text", ["the whole story", "designer shoes", "somewhere nice", "rewhich", "用户登录", ""]
)
def test_phrases_match_whole_words_only(text: str):
    assert omega_intent(text) == "NONE"


def test_factual_comes_before_conceptual():
    assert omega_intent("what is the design") == "FACTUAL"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("which editor does she prefer", "yes"),
        ("my favourite tea", "yes"),
        ("favorite tea", "yes"),
        ("what do they like", "yes"),
        ("what Ann likes", "yes"),
        ("we always use tabs", "yes"),
        ("the default port", "yes"),
        ("rather tabs", "yes"),
        ("tabs instead of spaces", "yes"),
        ("her preference", "yes"),
        ("an unlikely bug", "no"),
        ("defaulted loans", "no"),
        ("port of the server", "no"),
    ],
)
def test_questions_for_preferences(text: str, expected: str):
    assert omega_preference(text) == expected


@pytest.mark.parametrize(
    "text",
    ["a/" * 50_000, "a." * 50_000, "_" * 100_000, "aA" * 50_000 + " ", "x" * 100_000],
    ids=lambda text: text[:4],
)
def test_a_hostile_text_is_searched_to_its_end(text: str):
    assert omega_intent(text) == "NONE"
    assert omega_intent(f"{text} why is it") == "CONCEPTUAL"
    assert omega_intent(f"{text} which query_hint") == "NAVIGATIONAL"


def test_the_rules_have_names():
    assert CLASSIFIERS["omega-intent/1"] is omega_intent
    assert CLASSIFIERS["omega-preference/1"] is omega_preference
