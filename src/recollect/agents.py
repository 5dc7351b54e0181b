"""The MCP servers under their documented path: `recollect.agents.serve_stdio("./store")`."""

from __future__ import annotations

from recollect.interfaces.mcp import serve_http, serve_stdio

__all__ = ["serve_http", "serve_stdio"]
