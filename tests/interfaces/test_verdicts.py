"""One verdict in the same words on the command line, in Python, over MCP and HTTP, and on the page."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from agent_clients import HANG_S, Agent, parameters
from anyio.from_thread import start_blocking_portal
from click.testing import CliRunner
from mcp import Client

from recollect.events.facts import Recalled
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web import assets
from recollect.web.app import application
from recollect.web.forms import Serving

KINDS = ("exact", "attested", "redacted", "forged")
VERDICTS = {"exact": "exact", "attested": "attested", "redacted": "partly", "forged": "differs"}
COUNTS = (
    "verdict",
    "sentence",
    "exact",
    "checked",
    "exact_count",
    "attested",
    "redacted",
    "not_here",
    "different",
)


def make(folder: Path, kind: str) -> Path:
    """A store with exact recalls; with attested, then redacted, then forged ones too, up to this kind."""
    with Memory.open(folder, embedder="hash") as memory:
        for id_ in "abcde":
            memory.remember(f"auth session {id_}", id=id_)
        wanted = KINDS[: KINDS.index(kind) + 1]
        if "attested" in wanted:
            memory.recall("auth session a")
            memory.erase("a")
        if "redacted" in wanted:
            memory.recall("auth session b")
            memory.erase("b", unattested=True)
        answer = memory.recall("auth session c")
        if "forged" in wanted:
            fact = memory.store.event(int((answer.id or "")[1:])).fact
            assert isinstance(fact, Recalled)
            memory.store.append([msgspec.structs.replace(fact, ids=fact.ids[::-1])])
    return folder


def over_python(store: Path) -> dict[str, Any]:
    with Memory.open(store, embedder=None) as memory:
        return msgspec.to_builtins(memory.verify())


def over_http(store: Path, path: str = "/api/verify") -> dict[str, Any]:
    async def ask(memory: Memory) -> dict[str, Any]:
        async with AsyncMemory(memory, owner=False) as shared:
            transport = httpx.ASGITransport(application(shared, Serving()))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return (await client.get(path)).json()

    with Memory.open(store, embedder=None) as memory:
        return asyncio.run(ask(memory))


def over_mcp(store: Path) -> tuple[dict[str, Any], str]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        client = Client(parameters(store, "--profile", "audit"), read_timeout_seconds=HANG_S)
        agent = Agent(portal, stack.enter_context(portal.wrap_async_context_manager(client)))
        result = agent.call("verify")
        return result.structured_content, result.content[0].text


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_is_the_same_on_every_surface(tmp_path: Path, kind: str):
    store = make(tmp_path / "store", kind)
    verdict = VERDICTS[kind]
    expected = over_python(store)
    assert expected["verdict"] == verdict
    assert expected["checked"] == sum(expected[name] for name in COUNTS[4:])
    for present, name in zip(KINDS, ("exact_count", "attested", "redacted", "different"), strict=True):
        assert (expected[name] > 0) is (KINDS.index(present) <= KINDS.index(kind))
    told = {name: expected[name] for name in COUNTS}

    by_http = over_http(store)
    assert {name: by_http[name] for name in COUNTS} == told
    by_mcp, text = over_mcp(store)
    assert {name: by_mcp[name] for name in COUNTS} == told
    assert text.startswith(f"{verdict}: {told['sentence']}")
    shown = CliRunner().invoke(main, ["verify", "--store", str(store)], env={"COLUMNS": "400"})
    assert shown.output.startswith(f"{verdict}  {told['sentence']}")
    printed = CliRunner().invoke(main, ["verify", "--store", str(store), "--json"])
    assert {name: json.loads(printed.output)[name] for name in COUNTS} == told
    status = 0 if verdict in ("exact", "attested") else 1
    assert (shown.exit_code, printed.exit_code) == (status, status)


def test_the_page_shows_the_verdict_and_its_sentence_and_no_words_of_its_own():
    words = assets.text("verdict.js")
    assert "report.verdict" in words
    assert "report.sentence" in words
    assert not any(
        "all exact" in assets.text(name).replace('never "all exact"', "") for name in assets.names()
    )


def test_one_recall_is_told_in_the_words_of_the_whole(tmp_path: Path):
    store = make(tmp_path / "store", "forged")
    recalls = [one["id"] for one in over_http(store, "/api/recalls")["recalls"]]
    found = [over_http(store, f"/api/verify/{recall}") for recall in reversed(recalls)]
    assert [one["verdict"] for one in found] == ["attested", "redacted", "exact", "different"]
    assert all(one["sentence"] for one in found)
