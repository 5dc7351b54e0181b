"""The one plain sentence of an explanation names what decided."""

from __future__ import annotations

import pytest

from recollect.query.explain.sentence import ordinal, sentence
from recollect.query.explanation import Neighbour, StagePart


def scored(op: str, title: str, before: float, after: float, **reads: float) -> StagePart:
    return StagePart(
        number=1, op=op, title=title, state="applied", reads=reads, scored=True, before=before, after=after
    )


def said_of(*stages: StagePart, above: Neighbour | None = None) -> str:
    return sentence(rank=2, candidates=5, channels=[], stages=stages, above=above, below=None, drop=None)


def test_of_several_amounts_only_those_that_the_memory_got_are_named():
    boost = scored("boost", "boost by +0.3 in_span, +0.8 labels", 0.5, 0.75, in_span=0.0, labels=0.25 / 0.8)
    assert "; the boost for labels lifted it by 1.5×;" in said_of(boost)


def test_the_stage_with_the_largest_ratio_is_named_up_or_down():
    lifted = scored("multiply", "multiply by recency", 0.5, 0.6)
    lowered = scored("multiply", "multiply by feedback_factor", 0.6, 0.3)
    assert "feedback_factor lowered it by 0.5×" in said_of(lifted, lowered)
    assert "recency lifted it by 1.2×" in said_of(lifted)


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.5), (0.0, 0.5), (-1.0, 2.0)])
def test_a_stage_without_a_ratio_is_not_named(before: float, after: float):
    assert "it by" not in said_of(scored("boost", "boost by +1 x", before, after, x=1.0))


def test_the_neighbour_above_is_named_with_the_margin_or_what_decided():
    near = Neighbour(id="b", rank=1, score=0.75, margin=0.25, decided_by="score")
    tied = Neighbour(id="b", rank=1, score=0.5, margin=0.0, decided_by="id")
    assert said_of(above=near).endswith("0.25 below b.")
    assert said_of(above=tied).endswith("behind b by id.")


@pytest.mark.parametrize(
    ("number", "word"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st"),
     (102, "102nd"), (111, "111th")],
)  # fmt: skip
def test_places_are_counted_as_people_do(number: int, word: str):
    assert ordinal(number) == word
