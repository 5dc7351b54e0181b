"""Moments as people write them: a seq (`@1234`), ISO 8601 (naive means UTC), or `2 days ago`; and their clock."""

from __future__ import annotations

import math
import os
import re
from datetime import UTC, datetime

from recollect.events.clock import AHEAD_MAX, in_calendar, iso, to_datetime
from recollect.events.errors import InvalidInput

__all__ = ["When", "clock_ahead_max", "iso", "micros", "parse_seq", "parse_time", "to_datetime"]

When = int | str | datetime

_AGO = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(second|minute|hour|day|week|month|year)s?\s+ago\s*", re.IGNORECASE)
_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,  # 30 days
    "year": 31_536_000,  # 365 days
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def parse_time(when: str | datetime | float, *, now: int, what: str = "time") -> int:
    """A moment in µs from a datetime, ISO 8601, `2 days ago`, `now`, or seconds since 1970."""
    moment = _moment(when, now)
    if moment is None:
        seq = (
            f"; the seq is written @{when.strip()}"
            if isinstance(when, str) and when.strip().isdecimal()
            else ""
        )
        raise InvalidInput(
            f"{what} {when!r} is not a time; write it as 2026-11-01T12:00:00+00:00, 2026-11-01 or '2 days ago'{seq}"
        )
    if not in_calendar(moment):
        raise InvalidInput(f"{what} {when!r} lies outside the years 1 to 9999")
    return round(moment)


def _moment(when: str | datetime | float, now: int) -> float | None:
    if isinstance(when, datetime):
        return micros(when)
    if isinstance(when, (int, float)) and not isinstance(when, bool):
        return when * 1_000_000 if when >= 0 else None
    if isinstance(when, str):
        return _written(when.strip(), now)
    return None


def _written(text: str, now: int) -> float | None:
    if text.lower() == "now":
        return now
    if ago := _AGO.fullmatch(text):
        before = float(ago[1]) * _SECONDS[ago[2].lower()] * 1_000_000
        return now - round(before) if math.isfinite(before) else -math.inf
    try:
        return micros(datetime.fromisoformat(text))
    except ValueError:
        return None


def parse_seq(when: When) -> int | None:
    """The seq that `when` names (an int, or `@1234`), or None if it is a time."""
    if isinstance(when, bool):
        raise InvalidInput(f"{when!r} is neither a time nor a seq")
    if isinstance(when, int):
        return when
    if isinstance(when, str) and when.strip().startswith("@"):
        digits = when.strip()[1:]
        if not digits.isdecimal():
            raise InvalidInput(f"{when!r} is not a seq; write it as @1234")
        return int(digits)
    return None


def clock_ahead_max() -> int:
    """How far recorded time may be ahead of the clock for a write: RECOLLECT_CLOCK_AHEAD (`7d`), or a day; in µs."""
    told = os.environ.get("RECOLLECT_CLOCK_AHEAD")
    if not told:
        return AHEAD_MAX
    from recollect.dream.schedule import parse_interval  # noqa: PLC0415 (imports wait until needed)

    return parse_interval(told)
