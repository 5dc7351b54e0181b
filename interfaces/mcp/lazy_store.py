"""The store behind a server, opened in a thread of its own while the client is greeted.

Importing the engine, folding a log and loading a model all take longer than a handshake may. So nothing of that
happens before the first message is read: the store is opened in the background, and a call that needs it waits for
it. The threads are daemons: a server whose client has gone does not stay for them.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recollect.engine.embedding.names import require_embedder
from recollect.events.errors import InvalidInput
from recollect.events.named_files import named_path

if TYPE_CHECKING:
    from recollect.interfaces.model_server.client import HelperUse
    from recollect.interfaces.python.async_memory import AsyncMemory
    from recollect.interfaces.python.memory import Memory

T = TypeVar("T")
CLOSE_S = 1.0
"""How long a server that ends waits for work that was begun: less than clients wait before they kill it."""

Opener = Callable[[], "Memory"]


def opener(
    path: str | Path,
    *,
    embedder: str,
    reranker: str | None = None,
    helper: HelperUse | None = None,
) -> Opener:
    """How to open a store by its path; nothing is imported before it is called.

    Refuse at once what is certain to fail: better than a server that greets and then fails at every call.
    """
    require_embedder(embedder)
    folder = named_path(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file; a store is a directory")

    def open_() -> Memory:
        from recollect.interfaces.python.memory import Memory  # noqa: PLC0415 (that is the point)

        return Memory.open(path, embedder=embedder, reranker=reranker, actor="mcp", helper=helper, tell=_tell)

    return open_


class LazyStore:
    """`start` it in a running loop, then await its `memory`. Closes the store only if it opened it."""

    def __init__(self, source: Opener | Memory) -> None:
        self._source = source
        self._opening: asyncio.Future[AsyncMemory] | None = None

    def start(self) -> None:
        if self._opening is None:
            self._opening = in_background(self._open, name="recollect-open")
            self._opening.add_done_callback(_retrieve_exception)

    async def memory(self) -> AsyncMemory:
        """The open store; raises what went wrong if it could not be opened."""
        self.start()
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    async def model(self) -> None:
        """Wait until texts can be embedded; raises what the embedder raised if they cannot.

        An embedder that is away is not an error: what is told meanwhile is kept without a vector and says so.
        """
        memory = (await self.memory()).memory
        from recollect.engine.embedding.embedder import EmbedderAway  # noqa: PLC0415 (numpy; loaded by now)

        with suppress(EmbedderAway):
            await in_background(memory.load_model, name="recollect-model")

    async def close(self) -> None:
        """Let all work that was begun end, and close a store that was opened here and could be."""
        if self._opening is None:
            return
        await asyncio.wait([self._opening])
        if self._opening.exception() is None:
            await self._opening.result().close()

    def _open(self) -> AsyncMemory:
        from recollect.interfaces.python.async_memory import AsyncMemory  # noqa: PLC0415 (imports the whole engine)

        memory = self._source() if callable(self._source) else self._source
        memory.warm()
        return AsyncMemory(memory, owner=callable(self._source))


def _tell(note: str) -> None:
    sys.stderr.write(f"recollect: {note}\n")


def in_background(function: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """Run a function in a daemon thread; its outcome as a future of the running loop."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if outcome.cancelled():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        try:
            value, error = function(), None
        except BaseException as raised:  # noqa: BLE001 (raised again where the future is awaited)
            value, error = None, raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return outcome


def _retrieve_exception(opening: asyncio.Future[AsyncMemory]) -> None:
    """Mark the failure as seen: every call reports that the store could not be opened."""
    if not opening.cancelled():
        opening.exception()
