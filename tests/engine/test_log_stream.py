"""The log as a stream: where it begins and ends, now and while it grows, and ends that make no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pytest

from recollect.engine import log_stream as streaming
from recollect.engine.answers import Happening
from recollect.engine.moments import to_datetime
from recollect.events.errors import InvalidInput, RecollectError, UnknownMemory
from recollect.interfaces.python.memory import Memory

DAY = 86_400_000_000


class Clock(Protocol):
    now: int


class Enough(Exception):
    """Nothing more happens, and the stream still waits."""


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What happens each time that a stream waits; then it is stopped."""

    def tell(*steps: Callable[[], object]) -> None:
        left = iter(steps)

        def sleep(_: float) -> None:
            step = next(left, None)
            if step is None:
                raise Enough
            step()

        monkeypatch.setattr(streaming.time, "sleep", sleep)

    return tell


def told(events: Iterable[Happening]) -> list[str]:
    return [event.summary.partition(": ")[2] for event in events]


def until_enough(events: Iterator[Happening]) -> list[str]:
    found: list[Happening] = []
    with pytest.raises(Enough):
        found.extend(events)
    return told(found)


def test_following_from_a_time_ahead_waits_for_it(
    memory: Memory, clock: Clock, meanwhile: Callable[..., None]
):
    memory.remember("before")
    events = memory.log(type="memory", since=to_datetime(clock.now + DAY), follow=True)

    def a_day_later() -> None:
        clock.now += DAY
        memory.remember("tomorrow")

    meanwhile(lambda: memory.remember("today"), a_day_later, lambda: memory.remember("and on"))
    assert until_enough(events) == ["tomorrow", "and on"]


def test_following_up_to_a_time_ahead_ends_when_it_has_passed(
    memory: Memory, clock: Clock, meanwhile: Callable[..., None]
):
    memory.remember("before")

    def two_days_later() -> None:
        clock.now += 2 * DAY

    def too_late() -> None:
        two_days_later()
        memory.remember("too late")

    for end in (two_days_later, too_late):
        events = memory.log(
            type="memory", since=memory.status().head, until=to_datetime(clock.now + DAY), follow=True
        )
        meanwhile(lambda: memory.remember("in time"), end)
        assert told(events)[-1] == "in time"


def test_following_up_to_a_time_that_has_passed_does_not_wait(memory: Memory, meanwhile: Callable[..., None]):
    memory.remember("before")
    meanwhile()
    assert told(memory.log(type="memory", until="now", follow=True)) == ["before"]


def test_following_may_begin_and_end_at_seqs_to_come(memory: Memory, meanwhile: Callable[..., None]):
    memory.remember("before")
    head = memory.status().head
    events = memory.log(since=head + 2, until=head + 3, follow=True)
    meanwhile(*(lambda text=text: memory.remember(text) for text in ("one", "two", "three")))
    assert told(events) == ["two", "three"]


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ({"memory": "nope"}, "no memory has the id 'nope'"),
        ({"memory": "nope", "follow": True}, "no memory has the id 'nope'"),
        ({"since": "@99999"}, "@99999 is not in this log, which ends at @4"),
        ({"until": "@99999"}, "@99999 is not in this log, which ends at @4"),
        ({"since": -1}, "@-1 is not in this log"),
        ({"since": "@3", "until": "@2"}, r"since \(@3\) lies after until \(@2\); swap them"),
        ({"since": "@9", "until": "@8", "follow": True}, "swap them"),
        (
            {"since": "2025-02-01", "until": "2025-01-01"},
            r"since \(2025-02-01T.*\) lies after until \(2025-01-01T",
        ),
        ({"since": "@3", "until": "2001-01-01"}, r"since \(@3\) lies after until \(2001-01-01T"),
        ({"since": "2100-01-01", "until": "@3"}, "has not come yet"),
    ],
)
def test_ends_that_make_no_sense_are_refused(memory: Memory, ends: dict[str, object], says: str):
    for text in ("one", "two", "three"):
        memory.remember(text)
    with pytest.raises(RecollectError, match=says) as refusal:
        memory.log(**ends)
    assert isinstance(refusal.value, (InvalidInput, UnknownMemory))


def test_the_seq_that_comes_next_may_be_asked_for_and_has_nothing_yet(memory: Memory):
    memory.remember("one")
    assert list(memory.log(since=memory.status().head + 1)) == []
