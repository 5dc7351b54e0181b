"""Moments as people write them, and their clock.

    @1234                                a seq
    r2390                                a recall: its basis and its clock (`Store.resolve`)
    2026-11-10T14:40:00+01:00            ISO 8601; without an offset it means UTC
    2026-11-10 14:40 UTC                 the same with a zone by name (UTC, Europe/Berlin) or offset
    now · 3 weeks ago · in 2 days
    today · yesterday · last tuesday · tuesday · next friday · tomorrow, each perhaps with a time: yesterday 14:05
    14:05                                the last time it was that late

Words are read in UTC unless the environment has a TZ. `tuesday` is the latest one, today included; `last tuesday` lies
before today. A day alone is its beginning, or with `edge="ends"` its last microsecond, and now if it is today. Where clocks
are set back a time comes twice: the first counts, with `edge="ends"` the second; a time alone is its latest occurrence
of both. A time that clocks skip on a day is as much later on that day.
"""

from __future__ import annotations

import math
import os
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Literal, NamedTuple

from recollect.engine.validate import is_seq, shown
from recollect.events.clock import AHEAD_MAX, in_calendar, iso, to_datetime
from recollect.events.envelope import type_name
from recollect.events.errors import InvalidInput, UnknownRecall
from recollect.events.facts import Recalled
from recollect.events.log import Log

__all__ = [
    "Edge", "Time", "When", "clock_ahead_max", "iso", "micros", "parse_seq", "parse_time", "recall_moment", "to_datetime",
]  # fmt: skip

When = int | str | datetime
Time = str | datetime | float
Edge = Literal["begins", "ends"]

_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,  # 30 days
    "year": 31_536_000,  # 365 days
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNIT = f"(?P<unit>{'|'.join(_SECONDS)})s?"
_AWAY = re.compile(
    rf"(?:(?P<ago>\d+(?:\.\d+)?|an?) {_UNIT} ago|in (?P<ahead>\d+(?:\.\d+)?|an?) {_UNIT.replace('unit', 'unit2')})"
)
_DAY = re.compile(
    rf"(?:(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<near>today|yesterday|tomorrow)|(?:(?P<which>last|next) )?(?P<name>{'|'.join(f'{day[:3]}(?:{day[3:]})?' for day in _DAYS)})"
    r"|(?P<count>\d+|a) (?P<span>day|week)s? ago)(?: at)?(?: |$)"
)
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?(?: |$)"
)
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>[0-5]\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOOK_BACK_DAYS = 4


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970; a naive datetime is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def parse_time(
    when: Time, *, now: int, what: str = "time", edge: Edge = "begins", newest: int | None = None
) -> int:  # fmt: skip
    """A moment in µs from a datetime, a text as above that names no event, or seconds since 1970.

    One after `newest` is refused, for what can only lie in the past.
    """
    moment = _moment(when, now, edge)
    if moment is None:
        seq = (
            f"; the seq is written @{when.strip()}" if isinstance(when, str) and is_seq(when.strip()) else ""
        )
        raise InvalidInput(
            f"{what} {shown(when)} is not a time; write it as 2026-11-01T12:00:00+00:00, '2026-11-01 12:00 UTC', 2026-11-01, "
            f"'last tuesday', 'yesterday 14:05', 14:05 or '2 days ago'{seq}"
        )
    if not in_calendar(moment):
        raise InvalidInput(f"{what} {shown(when)} lies outside the years 1 to 9999")
    if newest is not None and moment > newest:
        raise InvalidInput(
            f"{what} {shown(when)} ({iso(round(moment))}) has not come yet; it is {iso(newest)}. Name a moment that has passed"
        )
    return round(moment)


def _moment(when: Time, now: int, edge: Edge) -> float | None:
    if isinstance(when, datetime):
        return micros(when)
    if isinstance(when, (int, float)) and not isinstance(when, bool):
        return when * 1_000_000 if when >= 0 else None
    if isinstance(when, str):
        return _written(" ".join(when.split()), now, edge)
    return None


def _written(text: str, now: int, edge: Edge) -> float | None:
    if text.lower() == "now":
        return now
    if away := _AWAY.fullmatch(text.lower()):
        return _away(away, now)
    try:
        named = _named(text, now)
        if named is not None:
            return _in_zone(named, now, edge)
        return _iso(text, now, edge)
    except ValueError:
        return None
    except OverflowError:
        return -math.inf


def _iso(text: str, now: int, edge: Edge) -> int:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return micros(datetime.fromisoformat(text))
    return _in_zone(_Named(day, None, UTC), now, edge)


def _away(away: re.Match[str], now: int) -> float:
    count = away["ago"] or away["ahead"]
    number = 1.0 if count.startswith("a") else float(count)
    distance = number * _SECONDS[away["unit"] or away["unit2"]] * 1_000_000
    if not math.isfinite(distance):
        return -math.inf
    return now - round(distance) if away["ago"] else now + round(distance)


# --- days, times of day, zones ---------------------------------------------------------------------


class _Named(NamedTuple):
    """A day, a time of day, or both, in a zone."""

    day: date | None
    clock: time | None
    zone: tzinfo


def _named(text: str, now: int) -> _Named | None:
    """What a text of words says; None if it says something else."""
    lower = text.lower()
    day = _DAY.match(lower)
    rest = lower if day is None else lower[day.end() :]
    clock = _CLOCK.match(rest)
    rest = text[len(text) - len(rest) :] if clock is None else text[len(text) - len(rest) + clock.end() :]
    if day is None and clock is None:
        return None
    in_iso = day is not None and day["iso"] is not None
    zone = _zone(rest) if rest else UTC if in_iso else _own_zone()
    if zone is None:
        return None
    found = None if day is None else _day(day, _at(now, zone).date())
    return _Named(found, None if clock is None else _clock(clock), zone)


def _day(day: re.Match[str], today: date) -> date:
    if day["iso"]:
        return date.fromisoformat(day["iso"])
    if day["near"]:
        return today + timedelta(days={"yesterday": -1, "today": 0, "tomorrow": 1}[day["near"]])
    if day["span"]:
        count = 1 if day["count"] == "a" else int(day["count"])
        return today - timedelta(days=count * {"day": 1, "week": 7}[day["span"]])
    wanted = next(index for index, name in enumerate(_DAYS) if name.startswith(day["name"][:3]))
    back = (today.weekday() - wanted) % 7
    if day["which"] == "next":
        return today + timedelta(days=7 - back)
    return today - timedelta(days=back or 7 if day["which"] == "last" else back)


def _clock(clock: re.Match[str]) -> time:
    fraction = (clock["fraction"] or "").ljust(6, "0")
    return time(int(clock["hour"]), int(clock["minute"]), int(clock["second"] or 0), int(fraction))


def _zone(text: str) -> tzinfo | None:
    """A zone by name or offset; None if there is no such zone."""
    if text.upper() in ("UTC", "GMT", "Z"):
        return UTC
    if offset := _OFFSET.fullmatch(text):
        distance = timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"]))
        return timezone(-distance if offset["sign"] == "-" else distance)
    from zoneinfo import ZoneInfo  # noqa: PLC0415 (imports wait until needed)

    try:
        return ZoneInfo(text)
    except (ValueError, OSError, KeyError):  # not a key, a folder of keys, or a key that is unknown here
        return None


def _own_zone() -> tzinfo:
    """The zone that words are read in: TZ of the environment, or UTC."""
    name = os.environ.get("TZ", "").removeprefix(":")
    zone = _zone(name) if name else UTC
    if zone is None:
        raise InvalidInput(
            f"TZ is {name!r} in the environment, which is no time zone known here; set it to one such as "
            f"Europe/Berlin, or write the time with its zone: '2026-11-10 14:40 UTC'"
        )
    return zone


def _at(moment: int, zone: tzinfo) -> datetime:
    return to_datetime(moment).astimezone(zone)


def _in_zone(named: _Named, now: int, edge: Edge) -> int:
    """The moment in µs."""
    day, clock, zone = named
    if day is None:
        assert clock is not None
        return _latest(clock, zone, now)
    if clock is not None:
        found = _occurrences(day, clock, zone)
        return [found[0], *(one for one in found if one <= now)][-1 if edge == "ends" else 0]
    begins = _occurrences(day, time(), zone)[0]
    if edge == "begins":
        return begins
    ends = _occurrences(day + timedelta(days=1), time(), zone)[0] - 1
    return now if begins <= now < ends else ends


def _occurrences(day: date, clock: time, zone: tzinfo) -> list[int]:
    """When it is that late on that day: once, or twice where clocks are set back; what clocks skip comes later."""
    twice = [datetime.combine(day, clock, zone).replace(fold=fold) for fold in (0, 1)]
    real = [one for one in twice if _exists(one)]
    return sorted({micros(one.astimezone(UTC)) for one in real or twice[:1]})


def _exists(local: datetime) -> bool:
    """Whether clocks ever show this."""
    shown = local.astimezone(UTC).astimezone(local.tzinfo)
    return shown.replace(tzinfo=None) == local.replace(tzinfo=None)


def _latest(clock: time, zone: tzinfo, now: int) -> int:
    """The last time that it was this late; a day on which clocks skip it has none."""
    today = _at(now, zone).date()
    for back in range(_LOOK_BACK_DAYS):
        day = today - timedelta(days=back)
        real = [
            one for one in _occurrences(day, clock, zone) if one <= now and _at(one, zone).time() == clock
        ]
        if real:
            return real[-1]
    raise OverflowError  # the calendar begins here


# --- seqs and the clock ----------------------------------------------------------------------------


def parse_seq(when: When) -> int | None:
    """The seq that `when` names (an int, or `@1234`), or None if it is a time."""
    if isinstance(when, bool):
        raise InvalidInput(f"{when!r} is neither a time nor a seq")
    if isinstance(when, int):
        if abs(when) >= 2**63:
            raise InvalidInput(f"{shown(when)} is not a seq")
        return when
    if isinstance(when, str) and when.strip().startswith("@"):
        digits = when.strip()[1:]
        if not is_seq(digits):
            raise InvalidInput(f"{when!r:.60} is not a seq; write it as @1234")
        return int(digits)
    return None


def recall_moment(log: Log, recall: str, *, head: int) -> tuple[int, int]:
    """The basis and the clock of a recorded recall."""
    seq = int(recall[1:])
    recorded = log.get(seq) if 0 < seq <= head else None
    if recorded is None or recorded.type != type_name(Recalled):
        raise UnknownRecall(recall)
    if not isinstance(recorded.fact, Recalled):
        raise InvalidInput(f"{recall} was erased and its moment with it; name its place in the log, @{seq}")
    return recorded.fact.basis, recorded.fact.question.now


def clock_ahead_max() -> int:
    """How far recorded time may be ahead of the clock for a write: RECOLLECT_CLOCK_AHEAD (`7d`), or a day; in µs."""
    told = os.environ.get("RECOLLECT_CLOCK_AHEAD")
    if not told:
        return AHEAD_MAX
    from recollect.dream.schedule import parse_interval  # noqa: PLC0415 (imports wait until needed)

    return parse_interval(told)
