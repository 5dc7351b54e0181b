"""Clients of real servers: what the tests of agents share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

HANG_S = 120.0


class Agent:
    """A connected client whose methods are called, not awaited."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        return self.portal.call(self.client.call_tool, tool, arguments)

    def ok(self, tool: str, /, **arguments: Any) -> Any:
        """The structured content of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content[0].text
        assert result.content[0].text
        return result.structured_content

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """What a call that must be refused says."""
        result = self.call(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        return result.content[0].text

    def get(self, method: str, /, *arguments: Any) -> Any:
        return self.portal.call(getattr(self.client, method), *arguments)


def parameters(store: Path | str, *options: str, embedder: str = "hash") -> StdioServerParameters:
    arguments = ["-m", "recollect", "mcp", "--store", str(store), "--embedder", embedder, *options]
    return python(*arguments)


def python(*arguments: str) -> StdioServerParameters:
    """A server in this Python; the SDK would leave out most of the environment, and so the tests' own user."""
    return StdioServerParameters(command=sys.executable, args=list(arguments), env=dict(os.environ))


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something to come true; fails if it does not."""
    deadline = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < deadline, f"still waiting: {what}"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
