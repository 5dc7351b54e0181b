"""Stores that dream: in memory, with the hash embedder and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from recollect.events.facts import AnyFact
from recollect.interfaces.python.memory import Memory

START_US = 1_763_000_000_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


class Clock:
    """A millisecond per reading, and as many hours or days as the test says."""

    def __init__(self) -> None:
        self.now = START_US

    def __call__(self) -> int:
        self.now += 1_000
        return self.now

    def pass_hours(self, hours: float) -> None:
        self.now += round(hours * HOUR_US)

    def pass_days(self, days: float) -> None:
        self.pass_hours(24 * days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hash", formula="reverie", clock=clock) as opened:
        yield opened


@pytest.fixture
def changes() -> Callable[..., dict[str, tuple[object, object]]]:
    """What a phase of a report did to one value: {id: (before, after)}."""

    def of(report, phase: str, what: str) -> dict[str, tuple[object, object]]:
        (found,) = [one for one in report.phases if one.phase == phase]
        return {change.id: (change.before, change.after) for change in found.changes if change.what == what}

    return of


@pytest.fixture
def tell(memory: Memory) -> Callable[..., None]:
    """Append facts as they are."""

    def append(*facts: AnyFact) -> None:
        memory._store.append(facts)
        memory._store.catch_up()

    return append
