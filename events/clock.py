"""Recorded time: what a clock may stamp, and what the stamps mean where a clock ran ahead.

A batch is stamped with the writer's clock, and never earlier than the batch before it. So after one write by a clock
that showed 2036, every later event would be stamped 2036. Therefore an append is refused (`ClockAhead`) while the last
recorded time is further ahead of the writer's clock than a bound.

The way on is a `ClockCorrected` event: it is stamped with the clock as it is, and what follows goes on from there.
The events before it keep their stamps. So recorded times decrease at corrections and nowhere else, and the log's own
indexes tell where (`Correction`). An event happened at the latest when a later correction was written:

    effective time = the least of its recorded time and those of all corrections after it

which never decreases. Moments are turned into positions by effective times. While the log is ahead of the clock and
no correction is written yet, times are read as if a correction had just been written.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from recollect.events.errors import LogFailed

CLOCK_CORRECTED = "log.clock_corrected"
AHEAD_MAX = 24 * 3_600 * 1_000_000
_JUST_NOW = 60 * 1_000_000  # so that what a caller calls now, by a clock read before, is not earlier
_RECOVERED = "log.recovered"
_MICROS_MIN = -62_135_596_800_000_000  # the beginning of the year 1
_MICROS_MAX = 253_402_300_799_999_999  # the end of the year 9999
_UNITS = (("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000))


class ClockAhead(LogFailed):
    """The log's last recorded time is too far ahead of this machine's clock; nothing was written."""

    def __init__(self, *, seq: int, at: int, now: int) -> None:
        self.seq = seq
        self.at = at
        self.now = now
        super().__init__(
            f"nothing can be written: the last event (@{seq}) was recorded at {iso(at)}, {span(at - now)} ahead of "
            f"this machine's clock ({iso(now)}), and every later one would carry that time. Correct this machine's "
            f"clock or, if it is right, let `recollect doctor --fix` record a correction"
        )


class Correction(NamedTuple):
    """Where recorded time was set back, and to when."""

    seq: int
    at: int


def clock_ahead(*, seq: int, at: int, now: int, ahead_max: int) -> ClockAhead | None:
    """The error for an append now, if the last event is at `seq` and was recorded at `at`; None if it may be written."""
    return ClockAhead(seq=seq, at=at, now=now) if at - now > ahead_max else None


def stamp(types: set[str], *, seq: int, at: int, now: int, ahead_max: int) -> int:
    """The recorded time of a batch of these types behind the event at `seq`, which was recorded at `at`.

    A recovery is recorded whatever the clock says: without it the log does not open.
    """
    if CLOCK_CORRECTED in types:
        return now
    refusal = clock_ahead(seq=seq, at=at, now=now, ahead_max=ahead_max)
    if refusal is not None and types != {_RECOVERED}:
        raise refusal
    return max(now, at)


def with_missing(corrections: list[Correction], ahead: ClockAhead | None) -> list[Correction]:
    """The corrections of a log and, while it is ahead of the clock, the one that is missing."""
    return corrections if ahead is None else [*corrections, Correction(ahead.seq + 1, ahead.now - _JUST_NOW)]


def effective(recorded: int, seq: int, corrections: Sequence[Correction]) -> int:
    """The latest time at which an event can have happened."""
    return min([recorded, *(one.at for one in corrections if one.seq > seq)])


def stretch(at: int, head: int, corrections: Sequence[Correction]) -> tuple[int, int]:
    """The seqs, first and last, among which the last event by a moment is found by recorded time.

    Everything before a correction that was written by then had happened by then, and what stands behind one that was
    written later happened later; between two corrections recorded times never decrease.
    """
    last = head
    for correction in reversed(corrections):
        if correction.at <= at:
            return correction.seq, last
        last = correction.seq - 1
    return 1, last


def to_datetime(moment: int) -> datetime:
    return datetime.fromtimestamp(moment // 1_000_000, UTC).replace(microsecond=moment % 1_000_000)


def in_calendar(moment: float) -> bool:
    """Whether a moment lies in the years 1 to 9999."""
    return _MICROS_MIN <= moment <= _MICROS_MAX


def iso(moment: int) -> str:
    """A moment in µs as ISO 8601 in UTC; one outside the years 1 to 9999 stays a number."""
    if not in_calendar(moment):
        return f"{moment} µs after 1970"
    return to_datetime(moment).isoformat(timespec="microseconds").replace("+00:00", "Z")


def span(micros: int) -> str:
    """A length of time in the largest unit that fits: 3,652 days."""
    unit, length = next((one for one in _UNITS if micros >= one[1]), _UNITS[-1])
    count = micros // length
    return f"{count:,} {unit}{'s' if count != 1 else ''}"
