"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from recollect.interfaces.common.counting import counted


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (1, "day", "1 day"),
        (57, "day", "57 days"),
        (2, "memory", "2 memories"),
        (1_200, "event", "1,200 events"),
    ],
)
def test_a_noun_is_in_the_plural_unless_there_is_one(count: int, noun: str, said: str):
    assert counted(count, noun) == said
