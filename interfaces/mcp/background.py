"""Background work of a server: dreams by `--dream-every`, and filling in missing vectors."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from recollect.events.errors import RecollectError
from recollect.interfaces.mcp.lazy_store import LazyStore
from recollect.interfaces.mcp.tool import Scope

if TYPE_CHECKING:
    from recollect.dream.report import DreamReport

_GREETING_S = 1.0
log = logging.getLogger("recollect.mcp")


async def background_work(lazy_store: LazyStore, scope: Scope) -> None:
    """Once the store is open, dream by the clock, and give vectors to memories that were told while the embedder was away.

    Several servers may dream on one store: each sees the others' dreams in the log, and a dream that is overtaken
    gives way. One that fails is logged, not fatal.
    """
    await asyncio.sleep(_GREETING_S)
    try:
        memory = await lazy_store.memory()
    except Exception:  # noqa: BLE001 (a store that cannot be opened is reported by every call)
        return
    # Imported here, when the engine is loaded: the handshake does not wait for it.
    from recollect.dream.schedule import parse_interval  # noqa: PLC0415
    from recollect.engine.dream_schedule import keep_dreaming_beside, schedule_of  # noqa: PLC0415
    from recollect.engine.vector_backfill import keep_filling_beside  # noqa: PLC0415

    work = [keep_filling_beside(memory)] if scope.fill_vectors else []
    if scope.dream_every is not None:
        schedule = schedule_of(parse_interval(scope.dream_every))
        work.append(keep_dreaming_beside(memory, schedule, dreamt=_dreamt, on_failure=_failed))
    await asyncio.gather(*work)


def _dreamt(report: DreamReport) -> None:
    log.info("dreamt %s", report.id)


def _failed(error: RecollectError | None) -> None:
    if error is not None:
        log.warning("a dream failed: %s", error)
