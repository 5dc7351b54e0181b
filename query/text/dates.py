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
from functools import cache, lru_cache
from typing import NamedTuple

from recollect.events.facts import Context, Micros, Question
from recollect.projections.lexical.analyzers import ANALYZERS
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


@lru_cache(maxsize=64)
def span_of(text: str, now: Micros) -> Span | None:
    """The time that the question speaks of; None if it names none."""
    return _first_span(text, now, _RULES)


Moments = tuple[datetime, datetime]
Rule = Callable[[str, datetime], Moments | None]


def _first_span(text: str, now: Micros, rules: Iterable[Rule]) -> Span | None:
    """What the first rule that holds says of a text in small letters."""
    lowered = as_unicode_14(text).lower()
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


def span_of_question(question: Question) -> Span | None:
    """The time that the question is about; None if it is about none.

    The caller may give it (`context.since`, `context.until`: they move a ranking, they do not restrict it as the
    filters of the same names do); otherwise it is read from the question's words, relative to its clock.
    """
    return given_span(question.context, question.now) or span_of(question.text, question.now)


def given_span(context: Context, now: Micros) -> Span | None:
    """The time that the caller gives: open at the front it begins in 1970, open at the end it lasts until now."""
    if context.since is None and context.until is None:
        return None
    start = 0 if context.since is None else context.since
    return Span(start, now + 1 if context.until is None else context.until)


# --- the second version: dates are read to the day, and a year that is written counts --------------
#
#     October 13, 2022 · Oct 13, 2022 · 29 Dec 2022 · the 3rd of May 2022 · 2022-10-13 · 2022/10/13    that day
#     October 2022 · Oct. 2022 · October of 2022                                                      that month
#     October 13 · the 29th of December                                the most recent such day, today included
#
# These come first, in this order but for the last line, which comes after what the first version reads of days counted
# back, named days and weekdays. All other words are those of the first version (above), which widened a day to its
# month, gave "October 13, 2022" the year of the clock, and did not know short names of months. A day that no calendar
# has (February 30, 2022) is read as its month. `may 3` is a day, `mar` and `may` alone are nothing.

_NUMBER = {name: n for n, month in enumerate(MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}
_NAME = "(" + "|".join(sorted(_NUMBER, key=len, reverse=True)) + r")\b\.?"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_IN_YEAR = r"(?:\s*,\s*|\s+(?:of\s+)?)((?:19|20)\d\d)\b"
_MONTH_DAY = rf"\b{_NAME}\s+(?:the\s+)?{_NTH}\b"
_DAY_MONTH = rf"(?<![\d.,:/-])\b{_NTH}\s+(?:of\s+)?{_NAME}"
_MONTH_DAY_YEAR = re.compile(_MONTH_DAY + _IN_YEAR)
_DAY_MONTH_YEAR = re.compile(_DAY_MONTH + _IN_YEAR)
_YEAR_FIRST = re.compile(r"(?<![\d./-])((?:19|20)\d\d)([-/.])(\d{1,2})\2(\d{1,2})(?![\d/-])")
_MONTH_YEAR = re.compile(rf"\b{_NAME}{_IN_YEAR}")
_MONTH_AND_DAY = re.compile(_MONTH_DAY)
_DAY_AND_MONTH = re.compile(_DAY_MONTH)


@lru_cache(maxsize=64)
def span_of_2(text: str, now: Micros) -> Span | None:
    """The time that the question speaks of; None if it names none."""
    return _first_span(text, now, _RULES_2)


def _day_with_year(text: str, now: datetime) -> Moments | None:
    del now  # the year stands in the text
    if match := _MONTH_DAY_YEAR.search(text):
        year, month, day = int(match[3]), _NUMBER[match[1]], int(match[2])
    elif match := _DAY_MONTH_YEAR.search(text):
        year, month, day = int(match[3]), _NUMBER[match[2]], int(match[1])
    elif match := _YEAR_FIRST.search(text):
        return _day(int(match[1]), int(match[3]), int(match[4]))
    else:
        return None
    return _day(year, month, day) or whole_month(year, month)


def _month_with_year(text: str, now: datetime) -> Moments | None:
    del now
    match = _MONTH_YEAR.search(text)
    return None if match is None else whole_month(int(match[2]), _NUMBER[match[1]])


def _day_without_year(text: str, now: datetime) -> Moments | None:
    """The most recent one; February 29 that of the last leap year."""
    if match := _MONTH_AND_DAY.search(text):
        month, day = _NUMBER[match[1]], int(match[2])
    elif match := _DAY_AND_MONTH.search(text):
        month, day = _NUMBER[match[2]], int(match[1])
    else:
        return None
    days = (_day(year, month, day) for year in range(now.year, now.year - 9, -1))
    return next((found for found in days if found is not None and found[0] <= now), None)


def _day(year: int, month: int, day: int) -> Moments | None:
    try:
        start = datetime.combine(date(year, month, day), datetime.min.time(), tzinfo=UTC)
    except ValueError:  # no calendar has it
        return None
    return start, start + _DAY


_RULES_2 = (
    _day_with_year, _month_with_year, counted_back, named, weekday, _day_without_year,
    month, year,
)  # fmt: skip


def span_of_question_2(question: Question) -> Span | None:
    """The time that the question is about: what the caller gives, else what its words name; None if neither."""
    return given_span(question.context, question.now) or span_of_2(question.text, question.now)


# --- asking for a time -----------------------------------------------------------------------------
#
# Whether a question asks for a time, and the words by which a text tells one. English alone.
#
# The words are terms of an English analyzer: days of the week, months, units of the calendar, "yesterday", "ago", years
# from 1900 to 2099 and ordinals from 1st to 31st. `may` and `march` are left out: they are other words more often.

_SPLIT_BY = "unicode61-cjk/2"
_WHAT = "(?:what|which) (?:date|day|month|year|time)"
_WHEN = re.compile(
    rf"^(?:when|how long|{_WHAT}) "
    rf"|(?:^| )(?:when (?:did|do|does|was|were|is|are|will|has|have|had)|(?:on|in|at|during) {_WHAT}) "
)
_TIMES = (
    "yesterday today tonight tomorrow ago week month year morning weekend summer winter monday tuesday wednesday "
    "thursday friday saturday sunday january february april june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_ENDINGS = ("st", "nd", "rd", "th")


@lru_cache(maxsize=64)
def asks_when(text: str) -> bool:
    """Whether the question begins with "when", "how long" or "what year", or asks so further on."""
    return bool(_WHEN.search(" ".join(ANALYZERS[_SPLIT_BY](text)) + " "))


@cache
def time_terms(analyzer: str) -> tuple[str, ...]:
    """The terms by which a text tells a time, each once, in order."""
    years = [str(year) for year in range(1900, 2100)]
    ordinals = [f"{day}{ending}" for day in range(1, 32) for ending in _ENDINGS]
    return tuple(dict.fromkeys((*ANALYZERS[analyzer](_TIMES), *years, *ordinals)))
