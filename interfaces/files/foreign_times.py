"""Times as other programs write them, in µs since 1970.

ISO 8601 (naive means UTC), the dates of mail, or a number since 1970: seconds, and from their size milliseconds,
microseconds or nanoseconds. Nothing is relative to now: a file means the same whenever it is read.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from recollect.engine.moments import micros

_LAST = 253_402_300_799_999_999  # the end of the year 9999
_UNITS = ((1e11, 1_000_000), (1e14, 1_000), (1e17, 1))


def moment(value: object) -> int | None:
    """None for nothing; ValueError with a sentence for what is not a time."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, date):
        return micros(datetime.fromisoformat(value.isoformat()))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    if isinstance(value, str):
        return _from_text(value.strip())
    raise ValueError(f"{value!r} is not a time")


def _from_number(number: float) -> int:
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{number!r} is not a time since 1970")
    scale = next((unit for below, unit in _UNITS if number < below), 1e-3)
    found = round(number * scale)
    if found > _LAST:
        raise ValueError(f"{number!r} lies after the year 9999")
    return found


def _from_text(text: str) -> int:
    try:
        return micros(datetime.fromisoformat(text))
    except ValueError:
        pass
    try:
        return _from_number(float(text))
    except ValueError:
        pass
    try:
        return micros(parsedate_to_datetime(text))
    except (ValueError, TypeError):
        raise ValueError(f"{text!r} is not a time; ISO 8601 or seconds since 1970 are") from None
