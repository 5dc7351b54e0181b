"""Progress notifications: a long call says from time to time how far it is, if its caller asked to hear it.

The work runs in a thread and only sets numbers; a task on the event loop sends them, so that slow clients never slow
the work down. The numbers a client gets grow, as the protocol wants.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

Report = Callable[[float, float | None, str | None], Awaitable[None]]

INTERVAL_S = 0.5


class Meter:
    """How far a call is: `done` of `total`, or the seconds that it has waited for something."""

    def __init__(self) -> None:
        self.done = 0
        self.total: int | None = None
        self.waiting_for: str | None = None
        self._began = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def reading(self) -> tuple[float, float | None, str | None]:
        if self.waiting_for is not None:
            return time.monotonic() - self._began, None, f"waiting for {self.waiting_for}"
        return float(self.done), None if self.total is None else float(self.total), None


async def report_meter(meter: Meter, report: Report) -> None:
    """Send the meter's reading every so often."""
    last = 0.0
    while True:
        await asyncio.sleep(INTERVAL_S)
        done, total, message = meter.reading()
        if done > last:
            last = done
            await report(done, total, message)
