"""The open stores of a server: opened at the first request, closed after a while without requests.

Each open store has a task of its own that keeps what runs beside it (the MCP server's sessions, missing vectors,
scrubbing) and closes it at the end. A store with requests under way, such as an agent's event stream, is not closed. Above `open_max` the
one that was not asked for the longest makes room; if all are at work, the new one is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from starlette.applications import Starlette

from recollect.engine.scrubbing import keep_scrubbing_beside
from recollect.engine.vector_backfill import keep_filling_beside
from recollect.events.errors import LogBusy
from recollect.events.named_files import named_path
from recollect.events.packs.urls import is_url
from recollect.interfaces.common.tasks import background_task
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web.app import application
from recollect.web.forms import Serving

IDLE_S = 300.0
OPEN_MAX = 128
READ_ONLY = "this token may read this store and not change it"
FULL = "the store is full: it has as many events as its limit allows; it can be read"

OpenMemory = Callable[[str], Memory]
Agents = Callable[[Memory], Starlette]


def place_of(where: str, name: str) -> str:
    """Where the store of this name lies: a directory in a directory, a prefix below a prefix, a stream beside streams."""
    if not is_url(where):
        return str(named_path(where).absolute() / name)
    url = urlsplit(where)
    base = url.path.rstrip("/")
    stream = url.scheme in {"nats", "tls"} and base
    path = f"{base}_{name}" if stream else f"{base}/{name}"
    options = [(key, f"{value}/{name}" if key == "mirror" else value) for key, value in parse_qsl(url.query)]
    return urlunsplit(url._replace(path=path, query=urlencode(options, safe="/:")))


@asynccontextmanager
async def kept_open(
    memory: AsyncMemory, agents: Starlette | None, *work: Coroutine[object, object, None]
) -> AsyncIterator[None]:
    """An open store while it is served: its model is loaded, agents have sessions, the log is scrubbed beside other work."""
    async with memory, AsyncExitStack() as beside:
        memory.memory.warm()
        if agents is not None:
            await beside.enter_async_context(agents.router.lifespan_context(agents))
        for one in (*work, keep_scrubbing_beside(memory.store)):
            await beside.enter_async_context(background_task(one))
        yield


class OpenStore:
    """An open store and its applications: one that writes, with agents beside it, and one that only reads."""

    def __init__(self, memory: Memory, agents: Agents | None, *, read_only: bool) -> None:
        self.memory = AsyncMemory(memory)
        self._read_only = read_only
        self.users = 0
        self.used = time.monotonic()
        self._agents = agents(memory) if agents else None
        self.writing = application(self.memory, Serving(), mounts=self._agents.routes if self._agents else ())
        self.reading = application(self.memory, Serving(read_only=True, read_only_because=READ_ONLY))
        self.full = application(self.memory, Serving(read_only=True, read_only_because=FULL))
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        work = [] if self._read_only else [keep_filling_beside(self.memory)]
        async with kept_open(self.memory, self._agents, *work):
            self._ready.set_result(None)
            await self._closing.wait()

    async def ready(self) -> None:
        await asyncio.wait([self._ready, self._task], return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            await self._task  # raises what went wrong

    async def close(self) -> None:
        self._closing.set()
        await self._task


class OpenStores:
    """`using` opens a store if it is not; `close_idle` closes those that were not used for `idle_s`.

    With `read_only` nothing is written beside the requests either.
    """

    def __init__(
        self, where: str, open_memory: OpenMemory, agents: Agents | None, *, idle_s: float = IDLE_S, open_max: int = OPEN_MAX,
        read_only: bool = False,
    ) -> None:  # fmt: skip
        self._where = where
        self._open_memory = open_memory
        self._agents = agents
        self._idle_s = idle_s
        self._max = open_max
        self._read_only = read_only
        self._open: dict[str, OpenStore] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self.opened: Callable[[str], None] = lambda _: None

    @property
    def heads(self) -> dict[str, int]:
        return {name: one.memory.store.log.head for name, one in self._open.items()}

    @asynccontextmanager
    async def using(self, name: str, *, make: bool) -> AsyncIterator[OpenStore | None]:
        """The open store; None if it does not exist and `make` is false."""
        async with self._turns.setdefault(name, asyncio.Lock()):
            one = self._open.get(name) or await self._opened(name, make=make)
            if one is not None:
                one.users += 1
        try:
            yield one
        finally:
            if one is not None:
                one.users -= 1
                one.used = time.monotonic()

    async def _opened(self, name: str, *, make: bool) -> OpenStore | None:
        place = place_of(self._where, name)
        if not make and not is_url(place) and not (Path(place) / "log").is_dir():
            return None
        if len(self._open) >= self._max:
            await self._close_one()
        memory = await asyncio.to_thread(self._open_memory, place)
        if not make and not memory.store.log.head:
            await asyncio.to_thread(memory.close)
            return None
        one = OpenStore(memory, self._agents, read_only=self._read_only)
        await one.ready()
        self._open[name] = one
        self.opened(name)
        return one

    async def _close_one(self) -> None:
        idle = [(one.used, name) for name, one in self._open.items() if not one.users]
        if not idle:
            raise LogBusy(f"all {self._max} stores that this server opens at once are at work; try again")
        await self._open.pop(min(idle)[1]).close()

    async def close_idle(self) -> None:
        """Close what was not used for a while; what is asked for meanwhile waits, and is opened anew."""
        for name, one in list(self._open.items()):
            async with self._turns[name]:
                if (
                    not one.users
                    and time.monotonic() - one.used >= self._idle_s
                    and self._open.get(name) is one
                ):
                    del self._open[name]
                    await one.close()

    async def keep_closing(self) -> None:
        while True:
            await asyncio.sleep(max(0.05, self._idle_s / 4))
            await self.close_idle()

    async def close(self) -> None:
        stores, self._open = list(self._open.values()), {}
        for one in stores:
            await one.close()
