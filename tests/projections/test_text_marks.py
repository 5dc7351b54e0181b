"""What a text shows beside its words, as the fold keeps it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.documents import NewRow
from recollect.projections.text_marks import TextMarks, asks, label_of

LABELLED = [
    ("Ann: I adopted a puppy", "Ann"),
    ("Dr. O'Neill-Smith: rest", "Dr. O'Neill-Smith"),
    ("elise:\nHi", "elise"),
    ("Décision : non", "Décision"),
    ("王：你好", "王"),
    ("Note to my self: tea", "Note to my self"),
    ("Ann: ", "Ann"),
]


@pytest.mark.parametrize(("text", "label"), LABELLED)
def test_a_short_name_and_a_colon_are_a_label(text: str, label: str):
    assert label_of(text) == label


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I adopted a puppy",
        "https://example.org/a",
        "12:30 is fine",
        "see, Ann: she knows",
        "What I wanted to say is: no",
        "- Ann: a list",
        "Ann:no space",
        ": nothing before",
        "x" * 41 + ": too long",
    ],
)
def test_what_is_no_label(text: str):
    assert label_of(text) is None


@pytest.mark.parametrize("text", ["why?", "Why? Because.", "なぜ？", "لماذا؟"])
def test_a_question_mark_asks(text: str):
    assert asks(text)
    assert not asks("Because. Why not")


@given(st.text(max_size=60))
def test_a_text_begins_with_its_label(text: str):
    assert text.startswith(label_of(text) or "")


@given(st.lists(st.text(max_size=12) | st.sampled_from(["Ann: hi?", "Bob: no", "Ann: yes"]), max_size=12))
def test_one_by_one_all_at_once_and_from_a_checkpoint_are_the_same(texts: list[str]):
    one, many, loaded = TextMarks(), TextMarks(), TextMarks()
    for row, text in enumerate(texts):
        one.add(NewRow(row, text, -1, None, -1))
    many.add_many(texts)
    loaded.load(many.dump())
    rows = list(range(len(texts)))
    for marks in (one, many, loaded):
        numbers = marks.label_numbers(rows).tolist() if rows else []
        assert [None if n < 0 else marks.labels.values[n] for n in numbers] == [label_of(t) for t in texts]
        assert (marks.asking(rows).tolist() if rows else []) == [asks(t) for t in texts]


def test_a_row_that_repeats_another_has_its_marks():
    marks = TextMarks()
    marks.add(NewRow(0, "Ann: why?", -1, None, -1))
    marks.add(NewRow(1, None, 0, b"", -1))
    marks.add(NewRow(2, None, -1, None, -1))
    assert marks.asking([0, 1, 2]).tolist() == [True, True, False]
    assert marks.label_numbers([0, 1, 2]).tolist() == [0, 0, -1]
