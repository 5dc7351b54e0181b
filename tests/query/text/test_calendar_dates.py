"""Dates of a question, second version: to the day, and with their years."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query.text import dates
from recollect.query.text.dates import Span, span_of_2

NOW = datetime(2023, 11, 2, 15, 30, tzinfo=UTC)


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def day(year: int, month: int, number: int) -> Span:
    start = datetime(year, month, number, tzinfo=UTC)
    return Span(micros(start), micros(start + timedelta(days=1)))


def month(year: int, number: int) -> Span:
    following = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return Span(micros(datetime(year, number, 1, tzinfo=UTC)), micros(following))


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("on October 13, 2022", day(2022, 10, 13)),
        ("Oct 13, 2022?", day(2022, 10, 13)),
        ("oct. 13th 2022", day(2022, 10, 13)),
        ("29 Dec 2022", day(2022, 12, 29)),
        ("the 3rd of May, 2022", day(2022, 5, 3)),
        ("2022/10/13", day(2022, 10, 13)),
        ("on 2022-10-13", day(2022, 10, 13)),
        ("2022.1.9", day(2022, 1, 9)),
        ("Friday, 13 October 2022", day(2022, 10, 13)),
        ("October 2022", month(2022, 10)),
        ("in Sept. 2022", month(2022, 9)),
        ("December of 2021", month(2021, 12)),
        ("February 30, 2022", month(2022, 2)),
        ("on October 13", day(2023, 10, 13)),
        ("Dec 24th", day(2022, 12, 24)),
        ("November 2", day(2023, 11, 2)),
        ("the 29th of February", day(2020, 2, 29)),
        ("may 3", day(2023, 5, 3)),
    ],
)
def test_the_time_of_a_date(text: str, span: Span):
    assert span_of_2(text, micros(NOW)) == span


@pytest.mark.parametrize(
    "text", ["mar", "may", "dec", "version 2022.10", "10/13", "12022-10-13", "13 of them", ""]
)
def test_what_names_no_date(text: str):
    assert span_of_2(text, micros(NOW)) is None


@pytest.mark.parametrize(
    "text", ["yesterday", "last week", "3 days ago", "on Monday", "in march", "june", "in 2021"]
)
def test_all_else_is_as_it_was(text: str):
    assert span_of_2(text, micros(NOW)) == dates.span_of(text, micros(NOW)) is not None


def test_the_first_version_reads_as_it_always_did():
    assert dates.span_of("October 13, 2022", micros(NOW)) == month(2023, 10)
    assert dates.span_of("29 Dec 2022", micros(NOW)) is None
    assert dates.span_of("2022/10/13", micros(NOW)) is None


@given(
    st.dates(date(1900, 1, 1), date(2099, 12, 30)),
    st.sampled_from(["%B %d, %Y", "%d %b %Y", "%Y/%m/%d"]),
)
def test_every_day_of_two_centuries_is_read_back(one: date, form: str):
    assert span_of_2(f"What happened on {one.strftime(form)}?", micros(NOW)) == day(
        one.year, one.month, one.day
    )


@given(st.text(max_size=40), st.integers(-(2**62), 2**62))
def test_any_text_and_clock_give_a_span_in_order_or_none(text: str, now: int):
    span = span_of_2(text, now)
    assert span is None or span.start < span.end
