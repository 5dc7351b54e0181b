"""The time that a question speaks of: a table of examples, asked on Wednesday 2026-03-18 at 15:30."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query.text.dates import Span, span_of

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
ASKED = datetime(2026, 3, 18, 15, 30, 0, 1, tzinfo=UTC)  # a stretch until now includes now


def micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def day(year: int, month: int, number: int) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


EXAMPLES = [
    ("in the last 3 days", NOW - timedelta(days=3), ASKED),
    ("last 5 hours", NOW - timedelta(hours=5), ASKED),
    ("the past 2 weeks", NOW - timedelta(days=14), ASKED),
    ("last 2 months", NOW - timedelta(days=2 * 30), ASKED),
    ("last 2 years", NOW - timedelta(days=2 * 365), ASKED),
    ("4 days ago", NOW - timedelta(days=4), ASKED),
    ("two weeks ago", NOW - timedelta(days=14), ASKED),
    ("a month ago", NOW - timedelta(days=30), ASKED),
    ("what happened yesterday", day(2026, 3, 17), day(2026, 3, 18)),
    ("Today", day(2026, 3, 18), ASKED),
    ("last week", day(2026, 3, 9), day(2026, 3, 16)),
    ("this week", day(2026, 3, 16), ASKED),
    ("last month", day(2026, 2, 1), day(2026, 3, 1)),
    ("this month", day(2026, 3, 1), ASKED),
    ("last year", day(2025, 1, 1), day(2026, 1, 1)),
    ("this  year", day(2026, 1, 1), ASKED),
    ("on Monday", day(2026, 3, 16), day(2026, 3, 17)),
    ("tuesday", day(2026, 3, 17), day(2026, 3, 18)),
    ("last Wednesday", day(2026, 3, 11), day(2026, 3, 12)),
    ("thursday", day(2026, 3, 12), day(2026, 3, 13)),
    ("Friday's release", day(2026, 3, 13), day(2026, 3, 14)),
    ("saturday", day(2026, 3, 14), day(2026, 3, 15)),
    ("sunday", day(2026, 3, 15), day(2026, 3, 16)),
    ("March 2025", day(2025, 3, 1), day(2025, 4, 1)),
    ("in December, 2024", day(2024, 12, 1), day(2025, 1, 1)),
    ("in january", day(2026, 1, 1), day(2026, 2, 1)),
    ("the November release", day(2025, 11, 1), day(2025, 12, 1)),
    ("december", day(2025, 12, 1), day(2026, 1, 1)),
    ("in March", day(2026, 3, 1), day(2026, 4, 1)),
    ("last May", day(2025, 5, 1), day(2025, 6, 1)),
    ("on 2025-03-14", day(2025, 3, 14), day(2025, 3, 15)),
    ("in 2024", day(2024, 1, 1), day(2025, 1, 1)),
]


@pytest.mark.parametrize(("text", "start", "end"), EXAMPLES, ids=[text for text, _, _ in EXAMPLES])
def test_the_time_of_a_phrase(text: str, start: datetime, end: datetime):
    assert span_of(text, micros(NOW)) == Span(micros(start), micros(end))


@pytest.mark.parametrize(
    "text",
    [
        "we may need a parser",
        "the march of technology",
        "yesterdays papers",
        "mondays",
        "2025-13-45",
        "12025-01-01",
        "version 2024",
        "last 999999 years",
        "最後の週",
        "",
    ],
)
def test_what_names_no_time(text: str):
    assert span_of(text, micros(NOW)) is None


def test_in_january_last_month_is_december():
    assert span_of("last month", micros(day(2026, 1, 5))) == Span(
        micros(day(2025, 12, 1)), micros(day(2026, 1, 1))
    )


@given(
    st.text(max_size=40) | st.sampled_from([text for text, _, _ in EXAMPLES]), st.integers(-(2**62), 2**62)
)
def test_any_text_and_clock_give_a_span_in_order_or_none(text: str, now: int):
    span = span_of(text, now)
    assert span is None or span.start < span.end
