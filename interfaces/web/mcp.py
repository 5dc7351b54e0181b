"""The MCP server beside the page: the same tools as `recollect mcp`, at /mcp of the same address."""

from __future__ import annotations

from starlette.applications import Starlette

from recollect.interfaces.mcp.http import BODY_BYTES_MAX, PATH
from recollect.interfaces.mcp.lazy_store import Behind
from recollect.interfaces.mcp.server import Agents
from recollect.interfaces.mcp.tool import Scope
from recollect.interfaces.python.memory import Memory

__all__ = ["BODY_BYTES_MAX", "PATH", "mcp_application"]


def mcp_application(memory: Memory, *, host: str) -> Starlette:
    """An application whose routes and lifespan join another's; a formula is never a file of this machine."""
    server = Agents(Behind(memory), Scope(files=False)).server()
    return server.streamable_http_app(
        streamable_http_path=PATH, host=host, max_request_body_size=BODY_BYTES_MAX
    )
