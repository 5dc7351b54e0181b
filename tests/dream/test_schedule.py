"""When the next dream is due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.dream.schedule import Schedule, due_at, is_due, parse_interval
from recollect.events.errors import InvalidInput

HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("24h", 24 * HOUR),
        ("90m", 90 * HOUR // 60),
        ("1.5d", 36 * HOUR),
        ("1w", 7 * 24 * HOUR),
        (" 2 H ", 2 * HOUR),
    ],
)
def test_intervals_are_a_number_and_a_unit(text, micros):
    assert parse_interval(text) == micros


@pytest.mark.parametrize("text", ["", "24", "h", "-1h", "0h", "soon", "1y"])
def test_what_is_no_interval_is_refused(text):
    with pytest.raises(InvalidInput, match="is not an interval"):
        parse_interval(text)


def test_a_dream_is_due_an_interval_after_the_last_one():
    day = Schedule(interval=24 * HOUR)
    assert due_at(last=5 * HOUR, new=1, schedule=day, opened=0) == 29 * HOUR
    assert not is_due(now=29 * HOUR - 1, last=5 * HOUR, new=1, schedule=day, opened=0)
    assert is_due(now=29 * HOUR, last=5 * HOUR, new=1, schedule=day, opened=0)


def test_a_store_that_never_dreamt_waits_an_interval_from_when_it_was_opened():
    assert due_at(last=None, new=3, schedule=Schedule(interval=4 * HOUR), opened=HOUR) == 5 * HOUR


def test_nothing_new_means_no_dream():
    assert due_at(last=0, new=0, schedule=Schedule(), opened=0) is None
    assert not is_due(now=10**18, last=0, new=0, schedule=Schedule(), opened=0)


def test_many_new_memories_bring_a_dream_forward_but_not_within_the_gap():
    eager = Schedule(interval=24 * HOUR, gap_min=HOUR // 2, enough_new=11)
    assert due_at(last=0, new=10, schedule=eager, opened=0) == 24 * HOUR
    assert due_at(last=0, new=11, schedule=eager, opened=0) == HOUR // 2


@given(
    st.integers(0, 10**6),
    st.integers(1, 100),
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 20),
)
def test_no_two_dreams_are_closer_than_the_gap(last, new, interval, gap, enough):
    schedule = Schedule(interval=interval, gap_min=gap, enough_new=enough)
    assert due_at(last=last, new=new, schedule=schedule, opened=0) >= last + gap
