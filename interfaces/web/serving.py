"""Serving a store: a socket, the guarded application on it, dreams by the clock, and a clean end.

The port is bound before anything else, so that port 0 is known by the time the guard learns which Host to expect, and
a port that is taken is an error of one line. SIGINT and SIGTERM end the server: requests under way are answered, then
the work in the threads is waited for.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

import msgspec
import uvicorn
from starlette.applications import Starlette

from recollect.dream.schedule import parse_interval
from recollect.engine.dream_schedule import keep_dreaming_beside, schedule_of
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.vector_backfill import keep_filling_beside
from recollect.events.errors import RecollectError
from recollect.events.named_files import named_path
from recollect.interfaces.common.http.connections import ACCEPTED_AT_ONCE, Server, protocol
from recollect.interfaces.common.http.exchange import Receive, Refusal, Scope, Send, refuse
from recollect.interfaces.common.http.guard import READS_ONLY, Application, guarded
from recollect.interfaces.common.http.listening import bound_socket
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web import assets
from recollect.web.app import application
from recollect.web.forms import Serving
from recollect.web.many_stores import ManyStores
from recollect.web.open_stores import IDLE_S, READ_ONLY, OpenMemory, OpenStores, kept_open
from recollect.web.tokens import Tokens

HOST = "127.0.0.1"
PORT = 8377
MCP_PATH = "/mcp"
_GRACE_SECONDS = 5
_REQUESTS_OF_MANY = 60_000  # of one client address, which may be a proxy; each store has a limit of its own

Ready = Callable[["Address"], None]


class McpApplication(Protocol):
    """Makes the MCP server of an open memory: an application whose routes and lifespan join this one's."""

    def __call__(self, memory: Memory, *, host: str, path: str) -> Starlette: ...


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server can be reached. `page` carries the token behind #, which a browser never sends."""

    url: str
    host: str
    port: int
    page: str
    read_only: bool
    mcp: str | None = None


class ServeOptions(TypedDict, total=False):
    """How one store is served.

    Requests with `read_token` may read and not write. `origins` are other sites whose pages may call, `host_names` the
    names by which other machines call. `ready` gets the address once requests are answered.
    """

    host: str
    port: int
    token: str | None
    read_token: str | None
    read_only: bool
    dream_every: str | None
    origins: Sequence[str]
    host_names: Sequence[str]
    ready: Ready | None


def serve(memory: Memory, *, mcp: McpApplication | None = None, **options: Unpack[ServeOptions]) -> None:
    """Serve an open memory until SIGINT or SIGTERM; it is open still when this returns.

    With `mcp`, and unless it is `read_only`, agents are served too, at /mcp of the same address.
    """
    refuse_unknown(options, ServeOptions.__annotations__)
    host, token, read_only = options.get("host", HOST), options.get("token"), options.get("read_only", False)
    dream_every, ready = options.get("dream_every"), options.get("ready")
    interval = None if dream_every is None else parse_interval(dream_every)
    with bound_socket(host, options.get("port", PORT), choose="another --port, or 0 for any") as listening:
        agents = None if read_only or mcp is None else mcp(memory, host=host, path=MCP_PATH)
        address = _address(host, listening.getsockname()[1], token, read_only, has_mcp=agents is not None)
        serving = Serving(read_only=read_only, dream_every=dream_every)
        app = guarded(
            _application(memory, serving, agents, interval=interval),
            host=host, port=address.port, token=token, read_token=options.get("read_token"),
            origins=options.get("origins", ()), host_names=options.get("host_names", ()),
            public_paths=("/", *(f"/page/{name}" for name in assets.names())),
        )  # fmt: skip
        _run(app, listening, lambda: ready(address) if ready else None)


def serve_stores(
    where: str,
    tokens: str | Path,
    open_memory: OpenMemory,
    *,
    host: str = HOST,
    port: int = PORT,
    read_only: bool = False,
    idle_s: float = IDLE_S,
    origins: Sequence[str] = (),
    host_names: Sequence[str] = (),
    mcp: McpApplication | None = None,
    ready: Ready | None = None,
) -> None:
    """Serve every store in a directory, or below a URL, that the file of tokens names, until SIGINT or SIGTERM.

    `open_memory` opens one by its place. Stores are opened when they are asked for and closed after `idle_s` without
    requests (`many_stores`).
    """
    known = Tokens(named_path(tokens))
    with bound_socket(host, port, choose="another --port, or 0 for any") as listening:
        address = _address(host, listening.getsockname()[1], None, read_only, has_mcp=False)
        address = msgspec.structs.replace(address, page=f"{address.url}/stores/NAME/")
        agents = None if mcp is None else partial(mcp, host=host, path=MCP_PATH)
        stores = OpenStores(where, open_memory, agents, idle_s=idle_s, read_only=read_only)
        app = guarded(
            ManyStores(stores, known, read_only=read_only),
            host=host, port=address.port, token=None, has_tokens=True,
            requests_per_minute=_REQUESTS_OF_MANY, origins=origins, host_names=host_names,
        )  # fmt: skip
        _run(app, listening, lambda: ready(address) if ready else None)


def _run(app: Application, listening: socket.socket, ready: Callable[[], None]) -> None:
    config = uvicorn.Config(
        app, lifespan="on", log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS, http=protocol(), backlog=ACCEPTED_AT_ONCE,
    )  # fmt: skip
    _Server(config, ready).run(sockets=[listening])


def _application(
    memory: Memory, serving: Serving, agents: Starlette | None, *, interval: int | None
) -> Application:
    """The page, the API and the MCP server, if there is one, over one open memory; or what a token that reads gets."""
    shared = AsyncMemory(memory, owner=False)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        work = [] if serving.read_only else [keep_filling_beside(shared)]
        if interval is not None:
            work.append(_dreams(shared, serving, interval))
        async with kept_open(shared, agents, *work):
            yield

    writing = application(shared, serving, mounts=agents.routes if agents else (), lifespan=lifespan)
    reading = application(shared, Serving(read_only=True, read_only_because=READ_ONLY))

    async def by_rights(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope.get(READS_ONLY):
            await writing(scope, receive, send)
        elif scope["path"].startswith(MCP_PATH):
            await refuse(send, Refusal(403, f"agents record what they ask: {READ_ONLY}"))
        else:
            await reading(scope, receive, send)

    return by_rights


def _address(host: str, port: int, token: str | None, read_only: bool, *, has_mcp: bool) -> Address:
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    url = f"http://{name}:{port}"
    page = f"{url}/" if token is None else f"{url}/#token={token}"
    mcp = url + MCP_PATH if has_mcp else None
    return Address(url=url, host=host, port=port, page=page, read_only=read_only, mcp=mcp)


def _dreams(memory: AsyncMemory, serving: Serving, interval: int) -> Coroutine[object, object, None]:
    """Dream when it is due while the server runs; report a failure in its status."""

    def failed(error: RecollectError | None) -> None:
        serving.dream_problem = None if error is None else f"the last scheduled dream failed: {error}"

    return keep_dreaming_beside(memory, schedule_of(interval), dreamt=lambda _: None, on_failure=failed)


class _Server(Server):
    """Calls `ready` once it answers; ends at a signal without raising it again, since the caller closes the store."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
