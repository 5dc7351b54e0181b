"""Scrubbing beside a server: one sealed segment, a pause, the next; after all of them a day of rest.

What is found stands in the store's status from then on, and in the program's log once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from recollect.events.scrub import scrub, sealed_segments
from recollect.store import Store

PAUSE_S = 60.0
REST_S = 24 * 3600.0


def scrub_next(store: Store, last: str) -> str:
    """Scrub the sealed segment after the one of this name; its name, or "" at the end of a round."""
    if store.folder is None:
        return ""
    path = next((path for path in sealed_segments(store.folder / "log") if path.name > last), None)
    if path is None:
        return ""
    try:
        findings = scrub(path).findings
    except OSError as error:
        _tell(store, f"{path} cannot be read: {error}")
    else:
        for finding in findings:
            _tell(store, f"{finding.path}, byte {finding.offset}, @{finding.seq}: {finding.problem}")
    return path.name


def _tell(store: Store, problem: str) -> None:
    said = f"scrubbing found damage: {problem}; see `recollect doctor --scrub`"
    if said not in store.scrub_problems:
        store.scrub_problems.append(said)
        logging.getLogger("recollect").error("recollect: %s", said)


@asynccontextmanager
async def scrubbing_beside(
    store: Store, *, pause_s: float = PAUSE_S, rest_s: float = REST_S
) -> AsyncIterator[None]:
    """Scrub slowly inside the block."""

    async def keep_scrubbing() -> None:
        last = ""
        while True:
            await asyncio.sleep(pause_s)
            last = await asyncio.to_thread(scrub_next, store, last)
            if not last:
                await asyncio.sleep(rest_s)

    task = asyncio.create_task(keep_scrubbing())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
