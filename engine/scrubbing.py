"""Scrubbing beside a server: one sealed segment, a pause, the next; after all of them a day of rest.

What is found stands in the store's status until a later look finds that segment whole, and in the program's log once.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from recollect.engine.store import Store
from recollect.events.packs.urls import is_mirror
from recollect.events.scrub import scrub, sealed_segments

PAUSE_S = 60.0
REST_S = 24 * 3600.0


def scrub_next(store: Store, last: str) -> str:
    """Scrub the sealed segment after the one of this name; its name, or "" at the end of a round."""
    if store.folder is None or is_mirror(store.folder):  # a mirror has encrypted payloads, and copies
        return ""
    path = next((path for path in sealed_segments(store.folder / "log") if path.name > last), None)
    if path is None:
        return ""
    try:
        found = scrub(path).findings
        problems = [f", byte {one.offset}, @{one.seq}: {one.problem}" for one in found]
    except OSError as error:
        problems = [f" cannot be read: {error}"]
    _tell(store, path, problems)
    return path.name


def _tell(store: Store, path: Path, problems: list[str]) -> None:
    """Replace the earlier finding about this segment by the new one."""
    about = f"scrubbing found damage: {path}"
    said = [f"{about}{problem}; see `recollect doctor --scrub`" for problem in problems]
    for one in said:
        if one not in store.scrub_problems:
            logging.getLogger("recollect").error("recollect: %s", one)
    store.scrub_problems[:] = [one for one in store.scrub_problems if not one.startswith(about)] + said


async def keep_scrubbing_beside(store: Store) -> None:
    """Scrub slowly until cancelled."""
    last = ""
    while True:
        await asyncio.sleep(PAUSE_S)
        last = await asyncio.to_thread(scrub_next, store, last)
        if not last:
            await asyncio.sleep(REST_S)
