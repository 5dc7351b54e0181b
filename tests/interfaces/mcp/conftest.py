"""Real servers, driven by the official client: over standard streams and over HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
from agent_clients import HANG_S, Agent, parameters
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

Connect = Callable[..., Agent]


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


def entered(stack: ExitStack, portal: BlockingPortal, client: Client) -> Agent:
    connection: AbstractContextManager[Client] = portal.wrap_async_context_manager(client)
    return Agent(portal, stack.enter_context(connection))


@pytest.fixture
def connect(portal: BlockingPortal) -> Iterator[Connect]:
    """Starts a server on a store and connects to it, as often as asked."""
    with ExitStack() as stack:

        def start(server: Any, *options: str, mode: str = "auto", **more: Any) -> Agent:
            target = parameters(server, *options, **more) if isinstance(server, Path) else server
            return entered(stack, portal, Client(target, mode=mode, read_timeout_seconds=HANG_S))

        yield start


@pytest.fixture(scope="session")
def audited(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """One server with all tools, for tests that leave each other alone."""
    store = tmp_path_factory.mktemp("audited") / "store"
    with ExitStack() as stack:
        server = parameters(store, "--profile", "audit")
        yield entered(stack, portal, Client(server, read_timeout_seconds=HANG_S))


@pytest.fixture
def http_server(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts HTTP servers on free ports; gives their URLs."""
    started: list[subprocess.Popen[str]] = []

    def start(*options: str) -> str:
        command = [
            sys.executable,
            "-m",
            "recollect",
            "mcp",
            "--store",
            str(tmp_path / "store"),
            "--embedder",
            "hash",
        ]
        server = subprocess.Popen(
            [*command, *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        started.append(server)
        assert server.stderr is not None
        line = server.stderr.readline()
        assert "serving http://" in line, line
        return line.split("serving ")[1].strip()

    yield start
    for server in started:
        server.terminate()
        server.communicate(timeout=HANG_S)
