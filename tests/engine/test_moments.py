"""Moments as people write them."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine.moments import iso, micros, parse_seq, parse_time, to_datetime
from recollect.events.clock import in_calendar
from recollect.events.errors import InvalidInput

NOW = micros(datetime(2026, 11, 16, 12, tzinfo=UTC))
DAY = 86_400_000_000
HALF_HOUR = DAY // 48


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


# --- words -----------------------------------------------------------------------------------------

WEDNESDAY = micros(datetime(2026, 11, 18, 12, 30, tzinfo=UTC))
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia"]
NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def at(text: str) -> int:
    return micros(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        ("last tuesday", "2026-11-17", "2026-11-17T23:59:59.999999"),
        ("Tuesday", "2026-11-17", "2026-11-17T23:59:59.999999"),
        ("last wednesday", "2026-11-11", "2026-11-11T23:59:59.999999"),
        ("wednesday", "2026-11-18", "2026-11-18T12:30"),
        ("today", "2026-11-18", "2026-11-18T12:30"),
        ("2026-11-10", "2026-11-10", "2026-11-10T23:59:59.999999"),
        ("20261110", "2026-11-10", "2026-11-10T23:59:59.999999"),
        ("yesterday 14:05", "2026-11-17T14:05", "2026-11-17T14:05"),
        ("yesterday at 9:05:07", "2026-11-17T09:05:07", "2026-11-17T09:05:07"),
        ("14:05", "2026-11-17T14:05", "2026-11-17T14:05"),
        ("12:30", "2026-11-18T12:30", "2026-11-18T12:30"),
        ("2026-11-10 14:40 UTC", "2026-11-10T14:40", "2026-11-10T14:40"),
        ("2026-11-10  14:40  Europe/Berlin", "2026-11-10T13:40", "2026-11-10T13:40"),
        ("2026-11-10 14:40 -0500", "2026-11-10T19:40", "2026-11-10T19:40"),
        ("3 weeks ago", "2026-10-28T12:30", "2026-10-28T12:30"),
        ("an hour ago", "2026-11-18T11:30", "2026-11-18T11:30"),
        ("2 days ago 09:00", "2026-11-16T09:00", "2026-11-16T09:00"),
        ("in 2 days", "2026-11-20T12:30", "2026-11-20T12:30"),
        ("tomorrow", "2026-11-19", "2026-11-19T23:59:59.999999"),
        ("next wednesday 08:00", "2026-11-25T08:00", "2026-11-25T08:00"),
    ],
)
def test_words_are_read_and_a_day_alone_begins_or_ends(text: str, begins: str, ends: str, monkeypatch):
    monkeypatch.delenv("TZ", raising=False)
    assert parse_time(text, now=WEDNESDAY) == at(begins)
    assert parse_time(text, now=WEDNESDAY, edge="ends") == at(ends)


@pytest.mark.parametrize("text", ["tomorrow", "in 1 second", "next monday", "2026-11-19", "2026-11-18T12:31"])
def test_the_future_is_refused_where_only_the_past_can_be_meant(text: str, monkeypatch):
    monkeypatch.delenv("TZ", raising=False)
    assert parse_time(text, now=WEDNESDAY) > WEDNESDAY
    with pytest.raises(InvalidInput, match="has not come yet; it is 2026-11-18T12:30"):
        parse_time(text, now=WEDNESDAY, newest=WEDNESDAY)


@pytest.mark.parametrize(
    "text", ["25:00", "14:60", "yesterday Mars/Base", "last someday", "tuesday 14", "yesterday ../UTC", "ago"]
)
def test_words_that_mean_nothing_are_refused(text: str):
    with pytest.raises(InvalidInput, match="is not a time; write it as"):
        parse_time(text, now=WEDNESDAY)


def test_words_are_read_in_the_zone_of_the_environment_and_iso_times_in_utc(monkeypatch):
    monkeypatch.setenv("TZ", ":America/New_York")
    assert parse_time("yesterday 14:05", now=WEDNESDAY) == at("2026-11-17T19:05")
    assert parse_time("yesterday 14:05 UTC", now=WEDNESDAY) == at("2026-11-17T14:05")
    assert parse_time("today", now=WEDNESDAY) == at("2026-11-18T05:00")
    assert parse_time("2026-11-10 14:40", now=WEDNESDAY) == at("2026-11-10T14:40")
    monkeypatch.setenv("TZ", "Mars/Base")
    with pytest.raises(InvalidInput, match="TZ is 'Mars/Base'"):
        parse_time("today", now=WEDNESDAY)


def test_a_time_that_comes_twice_is_the_first_for_a_beginning_and_the_second_for_an_end(monkeypatch):
    monkeypatch.setenv(
        "TZ", "Europe/Berlin"
    )  # on 25 October 2026 clocks go from 3:00 back to 2:00, at 1:00 UTC
    now = at("2026-10-25T12:00")
    assert parse_time("today 02:30", now=now) == at("2026-10-25T00:30")
    assert parse_time("today 02:30", now=now, edge="ends") == at("2026-10-25T01:30")
    assert parse_time("02:30", now=now) == at("2026-10-25T01:30")
    assert parse_time("02:30", now=at("2026-10-25T01:00")) == at("2026-10-25T00:30")
    assert parse_time("today 02:30", now=at("2026-10-25T01:00"), edge="ends") == at("2026-10-25T00:30")
    assert parse_time("sunday", now=at("2026-10-26T12:00"), edge="ends") + 1 == at("2026-10-25T23:00")


def test_a_time_that_clocks_skip_is_as_much_later_and_alone_is_that_of_a_day_that_has_it(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")  # on 29 March 2026 clocks go from 2:00 on to 3:00, at 1:00 UTC
    now = at("2026-03-29T12:00")
    assert parse_time("today 02:30", now=now) == at("2026-03-29T01:30")
    assert parse_time("02:30", now=now) == at("2026-03-28T01:30")


def test_a_day_that_begins_with_a_skipped_hour_begins_with_its_first_moment(monkeypatch):
    monkeypatch.setenv("TZ", "Africa/Cairo")  # on 24 April 2026 clocks go from 0:00 on to 1:00, at 22:00 UTC
    assert parse_time("yesterday", now=at("2026-04-25T12:00")) == at("2026-04-23T22:00")
    assert parse_time("thursday", now=at("2026-04-25T12:00"), edge="ends") == at("2026-04-23T22:00") - 1


@given(
    now=st.integers(at("2000-01-05"), at("2060-01-01")),
    zone=st.sampled_from(ZONES),
    clock=st.times(),
)
def test_a_time_of_day_alone_is_its_latest_occurrence(now: int, zone: str, clock: time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        found = parse_time(clock.isoformat(), now=now)
    local = to_datetime(found).astimezone(ZoneInfo(zone))
    assert found <= now
    assert local.time() == clock
    later = range(found + HALF_HOUR, now + 1, HALF_HOUR)
    assert not any(to_datetime(one).astimezone(ZoneInfo(zone)).time() == clock for one in later)


@given(
    now=st.integers(at("2000-01-05"), at("2060-01-01")),
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(NAMES),
)
def test_days_follow_upon_each_other_without_a_gap(now: int, zone: str, day: str):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        begins, ends = (parse_time(f"last {day}", now=now, edge=edge) for edge in ("begins", "ends"))
        today, yesterday = parse_time("today", now=now), parse_time("yesterday", now=now, edge="ends")
    assert yesterday + 1 == today <= now
    assert begins < ends < now
    first, last = (to_datetime(one).astimezone(ZoneInfo(zone)) for one in (begins, ends))
    assert first.date() == last.date()
    assert NAMES[first.weekday()] == day
    assert now - begins <= 8 * DAY + 2 * HALF_HOUR


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_refused(text: str):
    with contextlib.suppress(InvalidInput):
        assert in_calendar(parse_time(text, now=WEDNESDAY))
