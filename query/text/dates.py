"""dates: the time that a question speaks of, from its words and its clock.

    last 3 days · past 2 weeks · 5 months ago · yesterday · today · last/this week, month, year · Friday
    March 2025 · in March · 2025-03-14 · in 2025

The first rule that holds decides. A week begins on Monday; a month counted back has 30 days, a year 365; a
weekday is the most recent one, never today; a month without a year is the most recent one. "N days ago" runs
from then until now, not for one day. All in UTC. Words match whole, and `may` and `march` alone are no months.
A character that came after Unicode 14 is no letter and no digit, on any Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from recollect.events.facts import Context, Micros, Question
from recollect.projections.lexical.frozen_unicode import as_unicode_14

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_UNIT_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple of": 2, "a couple of": 2,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_COUNT_MAX = 100_000

_COUNT = r"(\d{1,6}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)).replace(" ", r"\s+") + ")"
_UNIT = r"(hour|day|week|month|year)s?"
_BACK = re.compile(rf"\b(?:last|past)\s+{_COUNT}\s+{_UNIT}\b|\b{_COUNT}\s+{_UNIT}\s+ago\b")
_NAMED = re.compile(r"\b(yesterday|today|(?:last|this)\s+(?:week|month|year))\b")
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})\b")
_MONTH_OF_YEAR = re.compile(rf"\b({'|'.join(MONTHS)}),?\s+((?:19|20)\d\d)\b")
_MONTH = re.compile(
    rf"\b({'|'.join(month for month in MONTHS if month not in ('march', 'may'))})\b"
    r"|\b(?:in|during|since|of|last|this|early|late|mid)\s+(march|may)\b"
)
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_YEAR = re.compile(r"\bin\s+((?:19|20)\d\d)\b")


class Span(NamedTuple):
    """A stretch of time, [start, end)."""

    start: Micros
    end: Micros


def span_of(text: str, now: Micros) -> Span | None:
    """The time that the question speaks of; None if it names none."""
    return first_span(as_unicode_14(text).lower(), now, _RULES)


Moments = tuple[datetime, datetime]
Rule = Callable[[str, datetime], Moments | None]


def first_span(lowered: str, now: Micros, rules: Iterable[Rule]) -> Span | None:
    """What the first rule that holds says of a text in small letters."""
    try:
        clock = _EPOCH + timedelta(microseconds=now)
        for rule in rules:
            found = rule(lowered, clock)
            if found is not None:
                return Span(_micros(found[0]), _micros(found[1]))
    except (OverflowError, ValueError):  # a clock or a date that no calendar has
        pass
    return None


def _micros(moment: datetime) -> Micros:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _until(now: datetime) -> datetime:
    """The end of a stretch that includes the present."""
    return now + timedelta(microseconds=1)


def counted_back(text: str, now: datetime) -> Moments | None:
    match = _BACK.search(text)
    if match is None:
        return None
    count, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
    words = " ".join(count.split())
    number = int(words) if words.isdecimal() else _NUMBERS[words]
    return now - min(number, _COUNT_MAX) * timedelta(days=_UNIT_DAYS[unit]), _until(now)


def named(text: str, now: datetime) -> Moments | None:
    match = _NAMED.search(text)
    if match is None:
        return None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - now.weekday() * _DAY
    month, year = midnight.replace(day=1), midnight.replace(day=1, month=1)
    return {
        "yesterday": (midnight - _DAY, midnight),
        "today": (midnight, _until(now)),
        "last week": (monday - 7 * _DAY, monday),
        "this week": (monday, _until(now)),
        "last month": ((month - _DAY).replace(day=1), month),
        "this month": (month, _until(now)),
        "last year": (year.replace(year=year.year - 1), year),
        "this year": (year, _until(now)),
    }[" ".join(match[1].split())]


def weekday(text: str, now: datetime) -> Moments | None:
    match = _WEEKDAY.search(text)
    if match is None:
        return None
    days_ago = (now.weekday() - _WEEKDAYS.index(match[1])) % 7 or 7
    start = now.replace(hour=0, minute=0, second=0, microsecond=0) - days_ago * _DAY
    return start, start + _DAY


def month(text: str, now: datetime) -> Moments | None:
    if match := _MONTH_OF_YEAR.search(text):
        return whole_month(int(match[2]), MONTHS.index(match[1]) + 1)
    if match := _MONTH.search(text):
        number = MONTHS.index(match[1] or match[2]) + 1
        return whole_month(now.year if number <= now.month else now.year - 1, number)
    return None


def whole_month(year: int, month: int) -> Moments:
    following = date(year + month // 12, month % 12 + 1, 1)
    return datetime(year, month, 1, tzinfo=UTC), datetime(following.year, following.month, 1, tzinfo=UTC)


def _calendar_date(text: str, now: datetime) -> Moments | None:
    del now  # the date stands in the text
    match = _ISO.search(text)
    if match is None:
        return None
    start = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)
    return start, start + _DAY


def year(text: str, now: datetime) -> Moments | None:
    del now
    match = _YEAR.search(text)
    if match is None:
        return None
    year = int(match[1])
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


_RULES: tuple[Rule, ...] = (counted_back, named, weekday, month, _calendar_date, year)


_in_words = lru_cache(maxsize=64)(span_of)


def span_of_question(question: Question) -> Span | None:
    """The time that the question is about; None if it is about none.

    The caller may give it (`context.since`, `context.until`: they move a ranking, they do not restrict it as the
    filters of the same names do); otherwise it is read from the question's words, relative to its clock.
    """
    return given_span(question.context, question.now) or _in_words(question.text, question.now)


def given_span(context: Context, now: Micros) -> Span | None:
    """The time that the caller gives: open at the front it begins in 1970, open at the end it lasts until now."""
    if context.since is None and context.until is None:
        return None
    start = 0 if context.since is None else context.since
    return Span(start, now + 1 if context.until is None else context.until)
