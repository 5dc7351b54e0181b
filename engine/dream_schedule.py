"""Dreaming by the clock: what `dream --every` runs, and what watchers and servers do beside their own work.

Several processes may dream by the clock on one store. They all see the last dream in the log, so they are due at the
same time. Whether one is due is decided at the view that the dream reads, and the dream is appended only if that is
still the head; so one writes its dream and the others find that none is due. A dream that fails ends no other work: it
is told, and tried again at the next look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from recollect.dream.report import DreamReport
from recollect.dream.schedule import MICROS_PER_SECOND, Schedule, is_due, new_memories
from recollect.engine.store import Store
from recollect.events.errors import RecollectError
from recollect.projections.view import View

_LOOKS_PER_INTERVAL = 20
_LOOK_SECONDS_MAX = 60.0

OnFailure = Callable[[RecollectError | None], None]


class DreamOvertaken(RecollectError):
    """Another process wrote while this dream ran; nothing of it was kept."""


class Dreamer(Protocol):
    """The part of an open memory that dreams."""

    @property
    def store(self) -> Store: ...

    def dream(self, *, due: Callable[[View], bool]) -> DreamReport: ...


class AsyncDreamer(Protocol):
    """The same for servers: `run` does work in a thread of its lane."""

    @property
    def memory(self) -> Dreamer: ...

    def run(self, function: Callable[[Any], Any], *, lane: Any) -> Awaitable[Any]: ...


def schedule_of(interval: int) -> Schedule:
    """Every `interval` µs; a shorter one also replaces the usual half hour between dreams."""
    return Schedule(interval=interval, gap_min=min(interval, Schedule().gap_min))


class Dreams:
    """The dreams of an open store by a schedule; `look` every `pause_s` or more often.

    `on_failure` hears why a dream failed, once as long as the reason stays the same, and None when that is over.
    """

    def __init__(self, memory: Dreamer, schedule: Schedule, on_failure: OnFailure) -> None:
        self.pause_s = min(schedule.interval / MICROS_PER_SECOND / _LOOKS_PER_INTERVAL, _LOOK_SECONDS_MAX)
        self._memory = memory
        self._schedule = schedule
        self._on_failure = on_failure
        self._opened = memory.store.clock()
        self._told = ""
        self._again_at = self._opened

    def look(self) -> DreamReport | None:
        """Dream if one is due; None if none is, or if it failed."""
        clock = self._memory.store.clock
        if clock() < self._again_at:
            return None
        try:
            report = self._dream_if_due()
        except RecollectError as error:
            self._again_at = clock() + round(self.pause_s * MICROS_PER_SECOND)
            self._tell(error)
            return None
        self._tell(None)
        return report

    def _dream_if_due(self) -> DreamReport | None:
        if not self._is_due(self._memory.store.view()):
            return None
        try:
            return self._memory.dream(due=self._is_due)
        except DreamOvertaken:  # another process dreamt, which is what was wanted
            return None

    def _is_due(self, view: View) -> bool:
        store = self._memory.store
        if ahead := store.log.clock_ahead():  # it would never be due, and could not be written
            raise ahead
        last = view.adoptions.last_dream(view.seq)
        return is_due(
            now=store.clock(),
            last=store.log.effective_time(last) if last else None,
            new=new_memories(view, last),
            schedule=self._schedule,
            opened=self._opened,
        )

    def _tell(self, error: RecollectError | None) -> None:
        said = "" if error is None else str(error)
        if said != self._told:
            self._told = said
            self._on_failure(error)


def keep_dreaming(
    memory: Dreamer, schedule: Schedule, *, sleep: Callable[[float], object], on_failure: OnFailure
) -> Iterator[DreamReport]:
    """Dream whenever a dream is due, for ever; check several times per interval."""
    dreams = Dreams(memory, schedule, on_failure)
    while True:
        report = dreams.look()
        if report is not None:
            yield report
        sleep(dreams.pause_s)


async def keep_dreaming_beside(
    memory: AsyncDreamer, schedule: Schedule, *, dreamt: Callable[[DreamReport], None], on_failure: OnFailure
) -> None:
    """The same beside a server, until it is cancelled: the dreams are dreamt in the thread for long work."""
    dreams = Dreams(memory.memory, schedule, on_failure)
    while True:
        report: DreamReport | None = await memory.run(lambda _: dreams.look(), lane="long")
        if report is not None:
            dreamt(report)
        await asyncio.sleep(dreams.pause_s)
