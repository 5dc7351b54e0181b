"""Serving over streamable HTTP, at /mcp, behind the guard of all servers.

Without a token the server must be bound to the loopback interface. Host and Origin are checked, bodies and rates
are limited (`recollect.interfaces.common.http.guard`), and connections that stall are closed (`recollect.interfaces.common.http.connections`). A formula
may not be named by a path here: a caller over the network reads no files.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from recollect.engine import validate
from recollect.events.errors import InvalidInput
from recollect.interfaces.common.http.guard import BODY_BYTES_MAX, guarded
from recollect.interfaces.common.http.listening import bound_socket
from recollect.interfaces.mcp.lazy_store import LazyStore
from recollect.interfaces.mcp.stdio import AgentOptions, lazy_store_of, leave, serve_stdio
from recollect.interfaces.mcp.tool import Scope

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from recollect.interfaces.python.memory import Memory

log = logging.getLogger("recollect.mcp")

PATH = "/mcp"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8420
DEFAULT_ADDRESS = f"{DEFAULT_HOST}:{DEFAULT_PORT}"
_SHUTDOWN_S = 2
_BACKLOG = 2_048


class Address(NamedTuple):
    """Where a server listens; port 0 takes a free one."""

    host: str
    port: int


def parse_address(text: str) -> Address:
    """`HOST:PORT`, `HOST`, `:PORT` or `PORT`; an IPv6 host stands in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = ("", text) if text.isdecimal() else (text, "")
    elif text.endswith("]"):
        host, port = text, ""
    number = port or str(DEFAULT_PORT)
    if not validate.is_seq(number) or int(number) > 65_535:
        raise InvalidInput(
            f"{text!r:.100} is not an address; write it as HOST:PORT, such as {DEFAULT_ADDRESS}"
        )
    return Address(host.strip("[]") or DEFAULT_HOST, int(number))


def serve_memory(memory: Memory, address: str | None, token: str | None, options: AgentOptions) -> None:
    """Serve an open memory over HTTP, or over stdio if there is no address."""
    from recollect.engine.recall_options import refuse_unknown  # noqa: PLC0415 (the handshake does not wait for it)

    refuse_unknown(options, AgentOptions.__annotations__)
    if address is None:
        serve_stdio(memory, **options)
    else:
        serve_http(memory, address=address, token=token, **options)


def serve_http(
    source: Memory | str | Path,
    *,
    address: str = DEFAULT_ADDRESS,
    token: str | None = None,
    embedder: str = "auto",
    daemon: bool = True,
    **options: Unpack[AgentOptions],
) -> None:
    """Serve an open memory, or the store at a path, over HTTP until the process is told to stop."""
    lazy_store = lazy_store_of(source, embedder=embedder, daemon=daemon)
    asyncio.run(_listen(lazy_store, Scope(files=False, **options), parse_address(address), token))


def run_and_leave(lazy_store: LazyStore, scope: Scope, address: str, token: str | None) -> None:
    """Serve until a signal, then end this process without waiting for threads that are still at work."""
    with suppress(KeyboardInterrupt):
        asyncio.run(_listen(lazy_store, scope, parse_address(address), token))
    leave(0)


async def _listen(lazy_store: LazyStore, scope: Scope, address: Address, token: str | None) -> None:
    import uvicorn  # noqa: PLC0415 (only an HTTP server pays for it)

    from recollect.interfaces.common.http.connections import ACCEPTED_AT_ONCE, Server, protocol  # noqa: PLC0415

    with bound_socket(*address, choose="another address") as listener:
        listener.listen(_BACKLOG)  # a client that reads the announced address can connect at once
        port = listener.getsockname()[1]
        app = _application(lazy_store, scope, address.host, PATH)
        config = uvicorn.Config(
            guarded(app, host=address.host, port=port, token=token), log_config=None, access_log=False,
            timeout_graceful_shutdown=_SHUTDOWN_S, lifespan="on", http=protocol(), backlog=ACCEPTED_AT_ONCE,
        )  # fmt: skip
        shown = f"[{address.host}]" if ":" in address.host else address.host
        log.warning("serving http://%s:%d%s", shown, port, PATH)
        await Server(config).serve(sockets=[listener])


def mcp_application(memory: Memory, *, host: str, path: str, profile: str = "default") -> Starlette:
    """The server of an open memory, for another server to mount; a formula is never a file of this machine."""
    scope = Scope(profile=profile, files=False, fill_vectors=False)
    return _application(LazyStore(memory), scope, host, path)


def _application(lazy_store: LazyStore, scope: Scope, host: str, path: str) -> Starlette:
    from recollect.interfaces.mcp.server import McpHandlers  # noqa: PLC0415 (the SDK takes a second to import)

    server = McpHandlers(lazy_store, scope).server()
    return server.streamable_http_app(
        streamable_http_path=path, host=host, max_request_body_size=BODY_BYTES_MAX
    )
