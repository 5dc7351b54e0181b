from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.lexical.forward import ForwardIndex
from recollect.projections.lexical.postings import Postings, TermPostings, count_terms

WORDS = "abcdef"

row_texts = st.lists(st.text(WORDS, max_size=6), max_size=40)
layouts = st.tuples(st.integers(1, 30), st.integers(2, 4))


def build(texts: list[str], block_tokens: int, fanout: int) -> tuple[ForwardIndex, Postings]:
    """One term per letter."""
    forward = ForwardIndex(list)
    postings = Postings(forward, block_tokens=block_tokens, fanout=fanout)
    for text in texts:
        add(forward, postings, text)
    return forward, postings


def add(forward: ForwardIndex, postings: Postings, text: str) -> None:
    forward.add(text)
    if forward.size >= postings.full_at:
        postings.absorb()


def lists(found: list[TermPostings]) -> list[list[tuple[int, int]]]:
    return [list(zip(rows.tolist(), tfs.tolist(), strict=True)) for rows, tfs in found]


def expected(texts: list[str], rows_end: int) -> list[list[tuple[int, int]]]:
    counts = [Counter(text) for text in texts[:rows_end]]
    return [[(row, count[word]) for row, count in enumerate(counts) if count[word]] for word in WORDS]


def ask(forward: ForwardIndex, postings: Postings, rows_end: int) -> list[list[tuple[int, int]]]:
    return lists(postings.of([forward.vocabulary.get(word, -1) for word in WORDS], rows_end))


@given(row_texts, layouts, st.data())
def test_postings_are_the_rows_that_hold_a_term_whatever_the_blocks(
    texts: list[str], layout: tuple[int, int], data: st.DataObject
):
    forward, postings = build(texts, *layout)
    rows_end = data.draw(st.integers(0, len(texts)))
    assert ask(forward, postings, rows_end) == expected(texts, rows_end)


@given(row_texts, row_texts, layouts)
def test_a_checkpoint_goes_on_as_if_nothing_had_happened(
    before: list[str], after: list[str], layout: tuple[int, int]
):
    forward, postings = build(before, *layout)
    forward_again, postings_again = build([], *layout)
    forward_again.load(forward.dump())
    postings_again.load(postings.dump())
    for text in after:
        add(forward_again, postings_again, text)
    assert ask(forward_again, postings_again, len(before + after)) == expected(
        before + after, len(before + after)
    )


@given(row_texts.filter(bool), layouts, st.data())
def test_a_copied_row_has_the_terms_of_its_original(
    texts: list[str], layout: tuple[int, int], data: st.DataObject
):
    forward, postings = build(texts, *layout)
    row = data.draw(st.integers(0, len(texts) - 1))
    forward.copy(row)
    copied = [*texts, texts[row]]
    assert ask(forward, postings, len(copied)) == expected(copied, len(copied))


def test_a_row_copied_from_no_row_is_empty():
    forward, _ = build(["ab"], 8, 2)
    forward.copy(-1)
    forward.settle()
    assert forward.lengths.tolist() == [2, 0]


def test_few_blocks_remain_after_many_rows():
    _, postings = build(["abc"] * 500, 3, 4)
    levels = Counter(block.level for block in postings._blocks)
    assert sum(count * 4**level for level, count in levels.items()) == 500
    assert levels[0] < 4
    assert levels[1] < 4


@pytest.mark.parametrize("highest", [7, 70_000, 2**31 - 1])
def test_terms_are_counted_per_row_whatever_their_numbers(highest: int):
    tokens = np.array([highest, 0, highest, 5, 0, highest], dtype=np.int32)
    rows = np.array([0, 0, 0, 1, 2, 2], dtype=np.int32)
    terms, found, tfs = count_terms(tokens, rows)
    assert list(zip(terms.tolist(), found.tolist(), tfs.tolist(), strict=True)) == [
        (0, 0, 1), (0, 2, 1), (5, 1, 1), (highest, 0, 2), (highest, 2, 1),
    ]  # fmt: skip
