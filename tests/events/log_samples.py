"""Small events and clocks for tests of logs."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.events.envelope import Draft, Recorded, draft
from recollect.events.facts import Ingested, Recovered
from recollect.events.log import Log


class StepClock:
    """1_000_000, 1_000_001, … µs; `now` may be set to let it jump."""

    def __init__(self) -> None:
        self.now = 1_000_000 - 1

    def __call__(self) -> int:
        self.now += 1
        return self.now


def event_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def note(number: int, *, text: str | None = None) -> Draft:
    """The event with this number: the same every time it is made."""
    content = text if text is not None else f"note {number} " + "x" * (number * 37 % 90)
    return draft(Ingested(id=f"m{number}", content=content, at=number), event_id=event_id(number + 1))


def notes(first: int, count: int) -> list[Draft]:
    return [note(number) for number in range(first, first + count)]


def numbers(events: Sequence[Recorded]) -> list[int]:
    """Which notes these are, without what recoveries wrote; each must be exactly as it was made."""
    found = []
    for recorded in events:
        if isinstance(recorded.fact, Recovered):
            continue
        number = int.from_bytes(recorded.id, "big") - 1
        assert recorded.fact == note(number).fact, f"@{recorded.seq} is not what was appended"
        found.append(number)
    return found


def all_numbers(log: Log) -> list[int]:
    events = list(log.read())
    assert [recorded.seq for recorded in events] == list(range(1, log.head + 1))
    return numbers(events)
