"""Vectors for memories that were told while their embedder was away, as soon as it can be asked again.

What `reembed --missing` does, by itself beside a server or a watcher. It is looked for when the log has grown, asked for
only while the embedder says that it is ready, and after a failure with growing pauses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Protocol

from recollect.engine.embedding.embedder import Embedder
from recollect.engine.reembed import ReembedReport, missing_vectors
from recollect.engine.store import Store
from recollect.events.errors import RecollectError

LOOK_S = 5.0
_PAUSE_S_MAX = 60.0


class Fillable(Protocol):
    """The part of an open memory that embeds."""

    @property
    def store(self) -> Store: ...

    @property
    def embedder(self) -> Embedder | None: ...

    def reembed(self) -> ReembedReport: ...


class AsyncFillable(Protocol):
    """The same for servers: `run` does work in a thread of its lane."""

    @property
    def memory(self) -> Fillable: ...

    def run(self, function: Callable[[Any], Any], *, lane: Any) -> Awaitable[Any]: ...


class VectorBackfill:
    """Adds missing vectors; call `look` often, it waits between attempts."""

    def __init__(self, memory: Fillable) -> None:
        self._memory = memory
        self._again_at = monotonic()
        self._pause_s = LOOK_S
        self._whole_at = -1

    def look(self) -> int:
        """Give vectors to memories that lack one, if it is time and the embedder is ready; how many got one."""
        if monotonic() < self._again_at:
            return 0
        self._again_at = monotonic() + LOOK_S
        try:
            done = self._fill()
        except (RecollectError, OSError):  # status says how many memories have no vector
            self._pause_s = min(2.0 * self._pause_s, _PAUSE_S_MAX)
            self._again_at = monotonic() + self._pause_s
            return 0
        self._pause_s = LOOK_S
        return done

    def _fill(self) -> int:
        store, embedder = self._memory.store, self._memory.embedder
        if embedder is None or store.read_only or store.damage is not None:
            return 0
        head = store.catch_up()
        if head == self._whole_at:
            return 0
        if not missing_vectors(store):
            self._whole_at = head
            return 0
        return self._memory.reembed().embedded if embedder.ready else 0


async def keep_filling_beside(memory: AsyncFillable) -> None:
    """Look for missing vectors beside a server, in the thread for long work, until it is cancelled."""
    backfill = VectorBackfill(memory.memory)
    while True:
        await memory.run(lambda _: backfill.look(), lane="long")
        await asyncio.sleep(LOOK_S)
