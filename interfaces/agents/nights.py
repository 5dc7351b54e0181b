"""Dreaming beside a server: what `--dream-every` does while agents are served."""

from __future__ import annotations

import asyncio
import logging

from recollect.agents.behind import Behind
from recollect.events.errors import RecollectError

log = logging.getLogger("recollect.mcp")

_LOOKS_PER_INTERVAL = 20
_LOOK_S_MAX = 60.0


async def keep_dreaming(behind: Behind, every: str) -> None:
    """Dream whenever the interval has passed and something is new; a dream that fails is logged, not fatal.

    Several servers may do so on one store: each sees the others' dreams in the log, and a dream that is overtaken
    gives way.
    """
    try:
        memory = await behind.memory()
    except Exception:  # noqa: BLE001 (a store that cannot be opened is reported by every call)
        return
    # Imported here, when the engine is loaded: the handshake does not wait for it.
    from recollect.dream.schedule import MICROS_PER_SECOND, parse_interval  # noqa: PLC0415
    from recollect.scheduled import dream_if_due, schedule_of  # noqa: PLC0415

    schedule = schedule_of(parse_interval(every))
    opened = memory.store.clock()
    pause_s = min(schedule.interval / MICROS_PER_SECOND / _LOOKS_PER_INTERVAL, _LOOK_S_MAX)
    while True:
        try:
            report = await memory.run(lambda it: dream_if_due(it, schedule, opened=opened), lane="long")
            if report is not None:
                log.info("dreamt %s", report.id)
        except RecollectError as error:
            log.warning("a dream failed: %s", error)
        await asyncio.sleep(pause_s)
