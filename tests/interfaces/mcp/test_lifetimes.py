"""How servers live together and end: cancelled calls, several servers on one store, clients that vanish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from agent_clients import HANG_S, gone, parameters, python, until
from mcp import Client, StdioServerParameters

from recollect.interfaces.python.memory import Memory

INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    '"clientInfo":{"name":"t","version":"0"}}}'
)
HELD = """
import sys, time
from pathlib import Path
from recollect.interfaces.mcp.lazy_store import LazyStore
from recollect.interfaces.mcp.stdio import run_and_leave
from recollect.interfaces.mcp.tool import Scope
from recollect.engine.embedding.embedder import HashEmbedder
from recollect.interfaces.python.memory import Memory

folder = Path(sys.argv[1])
inner = HashEmbedder()

def held(texts):
    "Vectors, once the file `go` exists, for texts that ask to be held."
    if any("slow" in text for text in texts):
        (folder / "started").touch()
        while not (folder / "go").exists():
            time.sleep(0.005)
    return inner.embed(texts)

run_and_leave(LazyStore(lambda: Memory.open(folder / "store", embedder=held)), Scope(profile="audit"))
"""


def held_server(folder: Path) -> StdioServerParameters:
    """A real server whose embedder holds texts with the word slow until the test lets it go on."""
    return python("-c", HELD, str(folder))


async def cancelled_call(client: Client, folder: Path, tool: str, arguments: dict[str, object]) -> None:
    """Begin a call, wait until the server is at work on it, and cancel it."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, tool, arguments)
        with anyio.fail_after(HANG_S):
            while not (folder / "started").exists():
                await anyio.sleep(0.005)
        tasks.cancel_scope.cancel()
    (folder / "started").unlink()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_cancelled_call_is_no_longer_waited_for_and_the_store_stays_whole(tmp_path, mode):
    async def session() -> None:
        async with Client(held_server(tmp_path), mode=mode, read_timeout_seconds=HANG_S) as client:
            await client.call_tool("remember", {"content": "a quick one", "id": "quick"})
            await cancelled_call(client, tmp_path, "recall", {"query": "a slow question"})
            await cancelled_call(client, tmp_path, "remember", {"content": "a slow memory", "id": "slow"})
            status = await client.call_tool("status", {})
            assert status.structured_content["memories"] == 1
            (tmp_path / "go").touch()
            await client.call_tool("remember", {"content": "written after it", "id": "after"})
            memory = await client.call_tool("get", {"id": "slow"})
            assert memory.structured_content["content"] == "a slow memory"
            verified = await client.call_tool("verify", {})
            assert verified.structured_content["exact"]

    anyio.run(session)


def test_a_client_that_leaves_while_a_call_is_running_leaves_no_process_behind(tmp_path):
    server = subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    call = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"content":"slow"}}}'
    for line in (INITIALIZE, '{"jsonrpc":"2.0","method":"notifications/initialized"}', call):
        server.stdin.write(line.encode() + b"\n")
        server.stdin.flush()
    until((tmp_path / "started").exists, "the call to begin")
    server.stdin.close()
    assert server.wait(timeout=HANG_S) == 0
    server.stdout.close()
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        assert memory.verify().exact
        assert memory.status().memories == 0


CLIENT = """
import asyncio, os, sys
from mcp import Client, StdioServerParameters

async def main():
    server = StdioServerParameters(command=sys.executable, args=sys.argv[1:], env=dict(os.environ))
    async with Client(server) as client:
        await client.call_tool("remember", {"content": "the last words"})
        print("connected", flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_a_killed_client_leaves_no_process_behind(tmp_path):
    arguments = parameters(tmp_path / "store").args
    client = subprocess.Popen([sys.executable, "-c", CLIENT, *arguments], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    assert client.stdout.readline() == "connected\n"
    children = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text("utf-8").split()
    assert len(children) == 1
    server = int(children[0])
    assert not gone(server)
    client.kill()
    client.communicate()
    until(lambda: gone(server), "the server to end")
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        assert [memo.content for memo in memory.memories()] == ["the last words"]


def test_a_signal_ends_a_server(tmp_path):
    server = subprocess.Popen(
        [sys.executable, *parameters(tmp_path / "store").args], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    server.stdin.write(INITIALIZE.encode() + b"\n")
    server.stdin.flush()
    assert server.stdout is not None
    assert b'"serverInfo"' in server.stdout.readline()
    os.kill(server.pid, signal.SIGTERM)
    assert server.wait(timeout=HANG_S) == 0
    server.stdin.close()
    server.stdout.close()


def test_two_servers_on_one_store_see_what_the_other_writes(connect, tmp_path):
    one, other = connect(tmp_path / "store"), connect(tmp_path / "store", "--profile", "audit")
    memory = one.ok("remember", content="The spare key is under the mat")["id"]
    assert [hit["id"] for hit in other.ok("recall", query="spare key")["hits"]] == [memory]
    other.ok("revise", id=memory, content="The spare key is with the neighbour")
    assert one.ok("get", id=memory)["content"].endswith("neighbour")
    written = [agent.ok("remember", content=f"note {n}")["id"] for n in range(5) for agent in (one, other)]
    one.ok("forget", id=written[0])
    assert other.ok("status")["visible"] == len(written)
    assert one.ok("status")["head"] == other.ok("status")["head"]
    assert other.ok("verify")["exact"]


TWIN = """
import sys
from pathlib import Path
from recollect import Memory

folder = Path(sys.argv[1])
with Memory.open(folder / "store", embedder="hash") as memory:
    memory.mcp(profile="audit", project="shop")
    (folder / "served").write_text(memory.memories()[0].content, "utf-8")
"""


def test_an_open_memory_serves_agents_and_stays_open(tmp_path):
    async def session() -> None:
        twin = python("-c", TWIN, str(tmp_path))
        async with Client(twin, read_timeout_seconds=HANG_S) as client:
            await client.call_tool("remember", {"content": "Orders are kept for a year"})
            status = (await client.call_tool("status", {})).structured_content
            assert (status["profile"], status["project"], status["memories"]) == ("audit", "shop", 1)

    anyio.run(session)
    until((tmp_path / "served").exists, "the server to come back")
    assert (tmp_path / "served").read_text("utf-8") == "Orders are kept for a year"
