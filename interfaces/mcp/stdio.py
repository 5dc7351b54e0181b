"""Serving over standard input and output, for the client that started this process.

The end of standard input is the end of the server, also while a call is running: the store is closed if that is
quick, and the process leaves in any case. While it serves, all printing goes to standard error. A line that is not a
message is answered too (`malformed.py`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from recollect.interfaces.mcp.lazy_store import CLOSE_S, LazyStore, opener
from recollect.interfaces.mcp.tool import Scope

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory

log = logging.getLogger("recollect.mcp")


class AgentOptions(TypedDict, total=False):
    """What agents get: a `profile` of tools, the project and session of calls that name none, and dreams by the clock."""

    profile: str
    project: str | None
    session: str | None
    dream_every: str | None


def serve_stdio(
    source: Memory | str | Path, *, embedder: str = "auto", daemon: bool = True, **options: Unpack[AgentOptions]
) -> None:  # fmt: skip
    """Serve an open memory, or the store at a path, until standard input ends.

    `embedder` and `daemon` (the shared model process) are for a path; an open memory keeps its own embedder.
    """
    lazy_store = lazy_store_of(source, embedder=embedder, daemon=daemon)
    asyncio.run(_serve(lazy_store, Scope(**options)))


def lazy_store_of(source: Memory | str | Path, *, embedder: str, daemon: bool) -> LazyStore:
    if not isinstance(source, (str, Path)):
        return LazyStore(source)
    return LazyStore(opener(source, embedder=embedder, helper="start" if daemon else "never"))


def run_and_leave(lazy_store: LazyStore, scope: Scope) -> None:
    """Serve, then end this process without waiting for threads that are still at work."""

    async def serve() -> None:
        stopping: set[asyncio.Task[None]] = set()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(
                number, lambda: stopping.add(asyncio.create_task(_close_and_leave(lazy_store)))
            )
        try:
            await _serve(lazy_store, scope)
        except BaseExceptionGroup as failures:
            if failures.subgroup(OSError) is None:
                log.exception("the server failed")
                leave(1)
        leave(0)

    asyncio.run(serve())


async def _close_and_leave(lazy_store: LazyStore) -> None:
    """Handle a signal. The thread that reads standard input cannot be cancelled, so do not wait for it."""
    with suppress(TimeoutError):
        await asyncio.wait_for(lazy_store.close(), CLOSE_S)
    leave(0)


def leave(code: int) -> None:
    """End now. Threads may still load a model or wait for one; what they write is written in whole batches."""
    sys.stderr.flush()
    os._exit(code)


async def _serve(lazy_store: LazyStore, scope: Scope) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 (only a server pays for the SDK)

    from recollect.interfaces.mcp.malformed import ReadableMessages  # noqa: PLC0415
    from recollect.interfaces.mcp.server import McpHandlers  # noqa: PLC0415

    server = McpHandlers(lazy_store, scope).server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(
            ReadableMessages(incoming, outgoing), outgoing, server.create_initialization_options()
        )
