"""The time that a question speaks of, second version: dates are read to the day, and a year that is written counts.

    October 13, 2022 · Oct 13, 2022 · 29 Dec 2022 · the 3rd of May 2022 · 2022-10-13 · 2022/10/13    that day
    October 2022 · Oct. 2022 · October of 2022                                                      that month
    October 13 · the 29th of December                                the most recent such day, today included

These come first, in this order but for the last line, which comes after what the first version reads of days counted
back, named days and weekdays. All other words are those of the first version (`dates.py`), which widened a day to its
month, gave "October 13, 2022" the year of the clock, and did not know short names of months. A day that no calendar
has (February 30, 2022) is read as its month. `may 3` is a day, `mar` and `may` alone are nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from recollect.events.facts import Micros, Question
from recollect.projections.lexical.frozen_unicode import as_unicode_14
from recollect.query.text import dates
from recollect.query.text.dates import MONTHS, Moments, Span

_DAY = timedelta(days=1)
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


def span_of(text: str, now: Micros) -> Span | None:
    """The time that the question speaks of; None if it names none."""
    return dates.first_span(as_unicode_14(text).lower(), now, _RULES)


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
    return _day(year, month, day) or dates.whole_month(year, month)


def _month_with_year(text: str, now: datetime) -> Moments | None:
    del now
    match = _MONTH_YEAR.search(text)
    return None if match is None else dates.whole_month(int(match[2]), _NUMBER[match[1]])


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


_RULES = (
    _day_with_year, _month_with_year, dates.counted_back, dates.named, dates.weekday, _day_without_year,
    dates.month, dates.year,
)  # fmt: skip


_in_words = lru_cache(maxsize=64)(span_of)


def span_of_question(question: Question) -> Span | None:
    """The time that the question is about: what the caller gives, else what its words name; None if neither."""
    return dates.given_span(question.context, question.now) or _in_words(question.text, question.now)
