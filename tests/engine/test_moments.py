"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.moments import iso, micros, parse_seq, parse_time, to_datetime
from recollect.events.errors import InvalidInput

NOW = micros(datetime(2026, 11, 16, 12, tzinfo=UTC))
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-16T12:00:00+00:00", NOW),
        ("2026-11-16T13:00:00+01:00", NOW),
        ("2026-11-16T12:00:00Z", NOW),
        ("2026-11-16T12:00:00", NOW),
        ("2026-11-16", NOW - DAY // 2),
        ("2 days ago", NOW - 2 * DAY),
        ("1 week ago", NOW - 7 * DAY),
        ("1.5 hours ago", NOW - DAY // 16),
        ("now", NOW),
    ],
)
def test_a_time_is_read_and_naive_means_utc(text: str, expected: int):
    assert parse_time(text, now=NOW) == expected


def test_a_datetime_keeps_its_offset():
    assert parse_time(datetime(2026, 11, 16, 14, tzinfo=timezone(timedelta(hours=2))), now=0) == NOW


@pytest.mark.parametrize("text", ["yesterday-ish", "", "@12", "2026-13-01", float("nan"), float("inf"), -1.0])
def test_what_is_no_time_is_refused_with_an_example(text: object):
    with pytest.raises(InvalidInput):
        parse_time(text, now=NOW)


@pytest.mark.parametrize(
    "when",
    [
        "3000 years ago", "99999999999999999999 years ago", f"{'9' * 400} years ago",
        "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 1e300, float("inf"),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    ],
)  # fmt: skip
def test_a_time_that_no_calendar_has_is_refused(when: object):
    with pytest.raises(InvalidInput, match="outside the years 1 to 9999"):
        parse_time(when, now=NOW)


def test_a_bare_number_is_told_apart_from_a_seq():
    with pytest.raises(InvalidInput, match="the seq is written @5"):
        parse_time("5", now=NOW)


def test_a_stored_time_that_no_calendar_has_can_still_be_shown():
    assert iso(-(10**17)) == "-100000000000000000 µs after 1970"
    assert iso(parse_time("0001-01-01", now=NOW)) == "0001-01-01T00:00:00.000000Z"


def test_a_seq_is_an_int_or_at_and_digits():
    assert parse_seq(12) == 12
    assert parse_seq("@12") == 12
    assert parse_seq("2026-11-16") is None
    for wrong in ("@", "@x", "@-1", True):
        with pytest.raises(InvalidInput):
            parse_seq(wrong)


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(9999, 12, 31)))  # noqa: DTZ001
def test_microseconds_and_datetimes_are_the_same_moments(moment: datetime):
    assert to_datetime(micros(moment)) == moment.replace(tzinfo=UTC)
    assert parse_time(iso(micros(moment)), now=0) == micros(moment)
