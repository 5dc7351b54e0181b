"""When to dream next: a pure decision from clocks and counts, for a process that runs all day.

A dream is due once the interval has passed since the last one, or earlier when many new memories wait; never
within the minimum gap, and never when nothing is new. Source: Reverie's triggers (every 4 h, more than 10 new
observations, at least 30 minutes apart); the default interval is ours.
"""

from __future__ import annotations

import re

import msgspec

from recollect.events.errors import InvalidInput
from recollect.events.facts import Micros
from recollect.projections.view import View

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_INTERVAL = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", re.IGNORECASE)
MICROS_PER_SECOND = 1_000_000
_INTERVAL_MAX = 365_000 * 86_400 * MICROS_PER_SECOND


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """`enough_new` memories bring a dream forward; 0: only the interval counts."""

    interval: Micros = 24 * 3_600 * MICROS_PER_SECOND
    gap_min: Micros = 30 * 60 * MICROS_PER_SECOND
    enough_new: int = 0


def parse_interval(text: str) -> Micros:
    """`24h`, `90m`, `1.5d`: a number and one of s, m, h, d, w."""
    match = _INTERVAL.fullmatch(text)
    micros = float(match[1]) * _SECONDS[match[2].lower()] * MICROS_PER_SECOND if match else 0.0
    if not 0.5 < micros <= _INTERVAL_MAX:
        raise InvalidInput(f"{text!r:.60} is not an interval; write it as 24h, 90m or 7d, at most 365000d")
    return round(micros)


def due_at(*, last: Micros | None, new: int, schedule: Schedule, opened: Micros) -> Micros | None:
    """When the next dream is due, as things stand; None while nothing is new.

    `last` is when the last dream ended (None: never, the interval then runs from `opened`).
    """
    if new <= 0:
        return None
    since = opened if last is None else last
    early = 0 < schedule.enough_new <= new
    return since + (schedule.gap_min if early else max(schedule.interval, schedule.gap_min))


def is_due(*, now: Micros, last: Micros | None, new: int, schedule: Schedule, opened: Micros) -> bool:
    moment = due_at(last=last, new=new, schedule=schedule, opened=opened)
    return moment is not None and now >= moment


def new_memories(view: View, since: int) -> int:
    """How many memories were born after a seq."""
    documents = view.documents
    before, until = documents.rows_born(since), documents.rows_born(view.seq)
    born = documents.memory_of
    # Memories are numbered by birth, so the largest number among the first rows says how many there were.
    known = int(born[:before].max()) + 1 if before else 0
    return (int(born[:until].max()) + 1 if until else 0) - known
