"""Agents reach a store over the Model Context Protocol: what `recollect mcp` serves.

`serve_stdio` and `serve_http` are its Python twins.
"""

from __future__ import annotations

from recollect.interfaces.mcp.http import mcp_application, serve_http, serve_memory
from recollect.interfaces.mcp.stdio import AgentOptions, serve_stdio

__all__ = ["AgentOptions", "mcp_application", "serve_http", "serve_memory", "serve_stdio"]
