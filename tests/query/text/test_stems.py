"""Stems of an overlap: one suffix of omega's fifteen, three letters left, Latin words only."""

from __future__ import annotations

import pytest

from recollect.query.formula import built_in
from recollect.query.stages.measuring import Overlap
from recollect.query.text.words import counts, family, stem

(SUFFIXES, _) = (stage.suffixes for stage in built_in("omega").stages if isinstance(stage, Overlap))


def test_there_are_fifteen_suffixes():
    assert SUFFIXES == (
        "ation", "tion", "ment", "ing", "ness", "ity", "ous", "ive", "able", "ed", "er", "es", "ly", "al", "s",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("deployed", "deploy"),
        ("deployment", "deploy"),
        ("deploys", "deploy"),
        ("validation", "valid"),
        ("action", "action"),  # two letters would be left
        ("uses", "use"),
        ("bed", "bed"),
        ("naïveté", "naïveté"),
        ("дела", "дела"),
        ("日本", "日本"),
        ("2es", "2es"),
    ],
)
def test_one_suffix_is_taken_off(word: str, expected: str):
    assert stem(word, SUFFIXES) == expected


@pytest.mark.parametrize("word", ["deployed", "deploy", "action", "bed", "日本", "uses"])
def test_a_family_is_all_words_with_one_stem(word: str):
    words = family(word, SUFFIXES)
    assert {stem(other, SUFFIXES) for other in words} == {stem(word, SUFFIXES)}
    assert word in words


@pytest.mark.parametrize(
    ("word", "expected"),
    [("to", False), ("the", True), ("日", True), ("日本", True), ("가", True), ("я", False)],
)
def test_words_of_one_or_two_letters_do_not_count_where_letters_are_many(word: str, expected: bool):
    assert counts(word) is expected
