"""Background work of a server: dreams by `--dream-every`, and filling in missing vectors."""

from __future__ import annotations

import asyncio
import logging

from recollect.events.errors import RecollectError
from recollect.interfaces.mcp.lazy_store import LazyStore

_GREETING_S = 1.0
log = logging.getLogger("recollect.mcp")


async def keep_dreaming(lazy_store: LazyStore, every: str) -> None:
    """Dream whenever the interval has passed and something is new; a dream that fails is logged, not fatal.

    Several servers may do so on one store: each sees the others' dreams in the log, and a dream that is overtaken
    gives way.
    """
    try:
        memory = await lazy_store.memory()
    except Exception:  # noqa: BLE001 (a store that cannot be opened is reported by every call)
        return
    # Imported here, when the engine is loaded: the handshake does not wait for it.
    from recollect.dream.schedule import parse_interval  # noqa: PLC0415
    from recollect.engine.dream_schedule import keep_dreaming_beside, schedule_of  # noqa: PLC0415

    await keep_dreaming_beside(
        memory,
        schedule_of(parse_interval(every)),
        dreamt=lambda report: log.info("dreamt %s", report.id),
        on_failure=_failed,
    )


async def keep_filling(lazy_store: LazyStore) -> None:
    """Give vectors to memories that were told while the embedder was away, once the store is open and has one."""
    await asyncio.sleep(_GREETING_S)
    try:
        memory = await lazy_store.memory()
    except Exception:  # noqa: BLE001 (as above)
        return
    from recollect.engine.vector_backfill import keep_filling_beside  # noqa: PLC0415 (as above)

    await keep_filling_beside(memory)


def _failed(error: RecollectError | None) -> None:
    if error is not None:
        log.warning("a dream failed: %s", error)
