"""Dreaming by the clock: what `dream --every` runs, and what any long-lived process can."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from recollect.dream.report import DreamReport
from recollect.dream.schedule import MICROS_PER_SECOND, Schedule, is_due, new_memories
from recollect.memory import Memory

_LOOKS_PER_INTERVAL = 20
_LOOK_SECONDS_MAX = 60.0


def schedule_of(interval: int) -> Schedule:
    """Every `interval` µs; a short interval is taken at its word instead of the usual half hour between dreams."""
    return Schedule(interval=interval, gap_min=min(interval, Schedule().gap_min))


def dream_if_due(memory: Memory, schedule: Schedule, *, opened: int) -> DreamReport | None:
    """One dream if the schedule says so; `opened` is when the waiting began."""
    store = memory.store
    view = store.view()
    last = view.engine.last_dream(view.seq)
    due = is_due(
        now=store.clock(),
        last=store.log.time_of(last) if last else None,
        new=new_memories(view, last),
        schedule=schedule,
        opened=opened,
    )
    return memory.dream() if due else None


def keep_dreaming(
    memory: Memory, schedule: Schedule, *, sleep: Callable[[float], object]
) -> Iterator[DreamReport]:
    """Dreams as they come due, for ever; looks again several times per interval."""
    opened = memory.store.clock()
    pause = min(schedule.interval / MICROS_PER_SECOND / _LOOKS_PER_INTERVAL, _LOOK_SECONDS_MAX)
    while True:
        report = dream_if_due(memory, schedule, opened=opened)
        if report is not None:
            yield report
        sleep(pause)
