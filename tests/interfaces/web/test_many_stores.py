"""Many stores behind one server: tokens, rights and limits of each, and nothing of one for the others."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from recollect.engine.reembed import missing_vectors
from recollect.events.errors import InvalidInput
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.cli.app import main
from recollect.interfaces.common.http.guard import guarded
from recollect.interfaces.mcp.http import mcp_application
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web.many_stores import ManyStores
from recollect.web.open_stores import OpenStores, place_of
from recollect.web.tokens import Tokens, read_tokens

GENEROUS_S = 180
TOKENS = """
metrics = ["watcher"]
[alice]
write = ["alice-writes"]
read = ["alice-reads"]
[bob]
write = ["bob-writes"]
[carol]
read = ["carol-reads"]
[small]
write = ["small-writes"]
events_max = 3
[slow]
write = ["slow-writes"]
requests_per_minute = 2
"""


class Client:
    """Requests with a token to the application in this process."""

    def __init__(self, http: httpx.AsyncClient, stores: OpenStores) -> None:
        self.http = http
        self.stores = stores

    async def ask(self, token: str | None, path: str, method: str = "GET", **more: object) -> httpx.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return await self.http.request(method, path, headers=headers, **more)

    async def tell(self, token: str, store: str, text: str) -> httpx.Response:
        return await self.ask(token, f"/stores/{store}/api/remember", "POST", json={"content": text})


@asynccontextmanager
async def serving(where: str, tokens: Path, **options: float) -> AsyncIterator[Client]:
    agents = partial(mcp_application, host="127.0.0.1", path="/mcp")
    stores = OpenStores(where, partial(Memory.open, embedder="hash"), agents, **options)
    inner = ManyStores(stores, Tokens(tokens, clock=iter(range(10**9)).__next__))
    app = guarded(inner, host="127.0.0.1", port=8377, token=None, has_tokens=True, requests_per_minute=10**6)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8377") as http:
        try:
            yield Client(http, stores)
        finally:
            await stores.close()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Runs a coroutine function with a client of a server over the stores of this test."""
    (tmp_path / "tokens.toml").write_text(TOKENS)

    def run_(work: Callable[[Client], Awaitable[None]], where: str | None = None, **options: float) -> None:
        async def whole() -> None:
            async with serving(
                where or str(tmp_path / "stores"), tmp_path / "tokens.toml", **options
            ) as client:
                await work(client)

        asyncio.run(whole())

    return run_


def test_a_token_reaches_its_own_store_and_a_reader_changes_nothing(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        assert (await client.tell("alice-writes", "alice", "tea is at four")).status_code == 201
        found = await client.ask("alice-reads", "/stores/alice/api/recall", params={"q": "tea"})
        assert found.json()["hits"][0]["content"] == "tea is at four"
        head = client.stores.heads["alice"]
        for method, path in (("POST", "remember"), ("POST", "recall"), ("POST", "memories/x/forget")):
            refused = await client.ask(
                "alice-reads", f"/stores/alice/api/{path}", method, json={"content": "x"}
            )
            assert refused.status_code == 403, (path, refused.text)
            assert "may read this store" in refused.json()["error"]
        assert client.stores.heads["alice"] == head
        assert (await client.ask("alice-reads", "/stores/alice/api/status")).json()["read_only"] is True
        assert (await client.ask("alice-writes", "/stores/alice/api/status")).json()["read_only"] is False
        both = [("Authorization", f"Bearer {token}") for token in ("alice-writes", "bob-writes")]
        for name in ("alice", "bob"):
            assert (await client.http.get(f"/stores/{name}/api/status", headers=both)).status_code == 401

    run(work)


def test_a_thousand_requests_across_stores_are_refused_and_say_nothing(
    run: Callable[..., None], tmp_path: Path
) -> None:
    """A known token gets the same bytes for another user's store as for one that does not exist."""
    places = [
        "",
        "/",
        "/api/status",
        "/api/recall?q=secret",
        "/api/memories",
        "/api/memories/s",
        "/mcp",
        "/metrics",
    ]
    places += ["/../bob/api/status", "//api/status", "/api/verify", "/api/export", "/%2e%2e/bob/"]
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    names = ["bob", "alice", "nobody", "carol", "b%6fb", "BOB", "bob%00", ".", "..", "stores", "a" * 200]
    chance = random.Random(16)

    async def work(client: Client) -> None:
        await client.tell("bob-writes", "bob", "the secret of bob")
        await client.tell("alice-writes", "alice", "the secret of alice")
        heads = client.stores.heads
        known = {"alice-writes": "alice", "bob-writes": "bob", "alice-reads": "alice", "watcher": ""}
        seen: dict[str, set[tuple[int, bytes, str]]] = {}
        tried = 0
        while tried < 1_000:
            token = chance.choice([*known, "unknown", "", "alice", sha256(b"bob-writes").hexdigest()])
            name, place, method = chance.choice(names), chance.choice(places), chance.choice(methods)
            path = f"/stores/{name}{place}"
            if httpx.URL(f"http://127.0.0.1{path}").path.startswith(f"/stores/{known.get(token)}"):
                continue
            body = {"content": b"{}"} if method in {"POST", "PUT", "PATCH"} else {}
            answer = await client.ask(token, path, method, **body)
            kind = "known" if token in known else "unknown"
            content = b"" if method == "HEAD" else answer.content
            seen.setdefault(kind + ("HEAD" if method == "HEAD" else ""), set()).add(
                (answer.status_code, content, str(sorted(answer.headers.items())))
            )
            tried += 1
        assert {kind: {one[0] for one in ones} for kind, ones in seen.items()} == {
            "known": {404}, "unknown": {401}, "knownHEAD": {404}, "unknownHEAD": {401}
        }  # fmt: skip
        assert all(len(ones) == 1 for ones in seen.values()), seen
        assert client.stores.heads == heads

    run(work)
    assert sorted(path.name for path in (tmp_path / "stores").iterdir()) == ["alice", "bob"]


def test_one_tenants_words_never_move_anothers_scores(run: Callable[..., None]) -> None:
    async def scores(client: Client) -> list[tuple[str, float]]:
        asked = {"q": "tea at four", "now": "2030-01-01"}
        answer = await client.ask("alice-writes", "/stores/alice/api/recall", params=asked)
        return [(hit["id"], hit["score"]) for hit in answer.json()["hits"]]

    async def work(client: Client) -> None:
        for n in range(5):
            await client.tell("alice-writes", "alice", f"tea number {n} at four")
        before = await scores(client)
        for n in range(20):
            await client.tell("bob-writes", "bob", f"tea tea four {n}")
        assert await scores(client) == before
        assert len(before) == 5

    run(work)


def test_a_store_that_is_not_there_is_made_by_who_may_write_and_missing_for_who_reads(
    run: Callable[..., None], tmp_path: Path
) -> None:
    async def work(client: Client) -> None:
        missing = await client.ask("carol-reads", "/stores/carol/api/status")
        strange = await client.ask("carol-reads", "/stores/bob/api/status")
        assert (missing.status_code, missing.content) == (404, strange.content)
        assert (await client.ask("bob-writes", "/stores/bob/api/status")).status_code == 200

    run(work)
    assert [path.name for path in (tmp_path / "stores").iterdir()] == ["bob"]


def test_the_page_is_the_same_for_every_name_and_needs_no_token(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        pages = [await client.ask(None, f"/stores/{name}/") for name in ("alice", "nobody")]
        assert {page.status_code for page in pages} == {200}
        assert pages[0].content == pages[1].content
        assert b"<html" in pages[0].content
        assert (await client.ask(None, "/stores/alice")).headers["location"] == "/stores/alice/"
        for path in ("/stores/alice/api/status", "/", "/metrics", "/stores/alice/mcp"):
            assert (await client.ask(None, path)).status_code == 401
        assert (await client.ask("alice-writes", "/stores/alice/")).status_code == 200

    run(work)


def test_agents_reach_the_store_of_a_token_that_writes(run: Callable[..., None]) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    greeting = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip

    async def work(client: Client) -> None:
        async def greet(token: str, store: str) -> httpx.Response:
            return await client.http.post(
                f"/stores/{store}/mcp", json=greeting, headers={**headers, "Authorization": f"Bearer {token}"}
            )

        greeted = await greet("alice-writes", "alice")
        assert greeted.status_code == 200, greeted.text
        assert "serverInfo" in greeted.text
        refused = await greet("alice-reads", "alice")
        assert (refused.status_code, "may read" in refused.json()["error"]) == (403, True)
        assert (await greet("alice-writes", "bob")).status_code == 404

    run(work)


def test_each_store_has_limits_of_its_own(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        said = [(await client.tell("small-writes", "small", f"note {n}")).status_code for n in range(4)]
        assert said[0] == 201
        assert said[-1] == 403
        full = await client.tell("small-writes", "small", "more")
        assert "the store is full" in full.json()["error"]
        found = await client.ask("small-writes", "/stores/small/api/recall", params={"q": "note"})
        assert len(found.json()["hits"]) == said.count(201)
        slow = [await client.ask("slow-writes", "/stores/slow/api/status") for _ in range(3)]
        assert [one.status_code for one in slow] == [200, 200, 429]
        assert int(slow[-1].headers["retry-after"]) > 0
        assert (await client.ask("alice-writes", "/stores/alice/api/status")).status_code == 200

    run(work)


def test_a_store_is_closed_when_idle_and_opened_again_when_asked(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        await client.tell("alice-writes", "alice", "tea")
        async with client.stores.using("alice", make=False):
            await client.stores.close_idle()
            assert set(client.stores.heads) == {"alice"}
        await client.stores.close_idle()
        assert client.stores.heads == {}
        found = await client.ask("alice-writes", "/stores/alice/api/recall", params={"q": "tea"})
        assert len(found.json()["hits"]) == 1

    run(work, idle_s=0.0)


async def looked(memory: AsyncMemory) -> None:
    """Wait for the first look for missing vectors, if there is one: its thread takes one piece of work after another."""
    await asyncio.sleep(0.0)
    await memory.run(lambda _: None, lane="long")


@pytest.mark.parametrize("read_only", [False, True])
def test_what_has_no_vector_gets_one_beside_the_requests_unless_the_server_only_reads(
    run: Callable[..., None], tmp_path: Path, read_only: bool
) -> None:
    with Memory.open(tmp_path / "stores" / "alice", embedder=None) as memory:
        memory.remember("tea")

    async def work(client: Client) -> None:
        async with client.stores.using("alice", make=False) as store:
            assert store is not None
            head = client.stores.heads["alice"]
            async with asyncio.timeout(GENEROUS_S):
                await looked(store.memory)
                while not read_only and missing_vectors(store.memory.store):
                    await asyncio.sleep(0.05)
            assert (client.stores.heads["alice"] == head) == read_only

    run(work, read_only=read_only)


def test_what_rots_in_a_store_is_found_while_it_is_served(
    run: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.engine.scrubbing.PAUSE_S", 0.01)
    monkeypatch.setitem(SegmentLog.open.__func__.__kwdefaults__, "segment_bytes", 600)
    with Memory.open(tmp_path / "stores" / "alice", embedder="hash") as memory:
        for number in range(20):
            memory.remember(f"tea number {number}")
    first = min((tmp_path / "stores" / "alice" / "log").glob("*.seg"))

    async def work(client: Client) -> None:
        async with client.stores.using("alice", make=False) as store, asyncio.timeout(GENEROUS_S):
            assert store is not None
            content = bytearray(first.read_bytes())
            content[len(content) // 2] ^= 0xFF
            first.write_bytes(content)
            while not store.memory.store.scrub_problems:
                await asyncio.sleep(0.01)
            assert first.name in store.memory.store.scrub_problems[0]

    run(work)


def test_no_more_stores_are_open_than_allowed_and_one_at_work_is_not_closed(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        await client.tell("alice-writes", "alice", "tea")
        await client.tell("bob-writes", "bob", "tea")
        assert set(client.stores.heads) == {"bob"}
        async with client.stores.using("bob", make=False):
            busy = await client.ask("alice-writes", "/stores/alice/api/status")
            assert (busy.status_code, "at work" in busy.json()["error"]) == (503, True)
        assert (await client.ask("alice-writes", "/stores/alice/api/status")).status_code == 200

    run(work, open_max=1)


def test_metrics_show_a_token_its_own_store_and_the_watcher_all_of_them(run: Callable[..., None]) -> None:
    async def work(client: Client) -> None:
        await client.tell("alice-writes", "alice", "tea")
        await client.ask("bob-writes", "/stores/alice/api/status")
        await client.ask("unknown", "/stores/alice/api/status")
        own = (await client.ask("alice-reads", "/metrics")).text
        assert 'recollect_requests_total{store="alice",status="201"} 1\n' in own
        assert f'recollect_store_head{{store="alice"}} {client.stores.heads["alice"]}\n' in own
        assert "bob" not in own
        every = await client.ask("watcher", "/metrics")
        assert every.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert 'recollect_requests_total{store="bob",status="404"} 1\n' in every.text
        assert 'recollect_requests_total{store="",status="401"} 1\n' in every.text
        assert 'recollect_store_open{store="alice"} 1\n' in every.text
        assert (await client.ask("watcher", "/stores/alice/api/status")).status_code == 404

    run(work)


def test_stores_may_lie_below_a_url(run: Callable[..., None], tmp_path: Path) -> None:
    where = f"file://{tmp_path}/shared?mirror={tmp_path}/mirrors"
    assert place_of(where, "alice") == f"file://{tmp_path}/shared/alice?mirror={tmp_path}/mirrors/alice"
    assert place_of("nats://h:4222", "alice") == "nats://h:4222/alice"
    assert place_of("nats://h:4222/team", "alice") == "nats://h:4222/team_alice"

    async def work(client: Client) -> None:
        assert (await client.ask("carol-reads", "/stores/carol/api/status")).status_code == 404
        assert (await client.tell("alice-writes", "alice", "tea")).status_code == 201
        assert (await client.ask("alice-reads", "/stores/alice/api/status")).json()["replication"]

    run(work, where)


def test_a_token_that_is_taken_out_of_the_file_is_unknown_and_a_broken_file_changes_nothing(
    run: Callable[..., None], tmp_path: Path
) -> None:
    async def work(client: Client) -> None:
        path = "/stores/alice/api/status"
        assert (await client.ask("alice-writes", path)).status_code == 200
        (tmp_path / "tokens.toml").write_text("[alice]\nwrite = [")
        assert (await client.ask("alice-writes", path)).status_code == 200
        (tmp_path / "tokens.toml").write_text('[alice]\nwrite = ["another"]\n')
        assert (await client.ask("alice-writes", path)).status_code == 401
        assert (await client.ask("another", path)).status_code == 200

    run(work)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has none"),
        ("[alice]\nwrite = ['a']\n[bob]\nread = ['a']", "stands there twice (alice and bob)"),
        ("['../x']\nwrite = ['a']", "is no name for a store"),
        ("[a_side]\nwrite = ['a']", "is no name for a store"),
        ("[alice]\nwrite = ['a b']", "printable ASCII"),
        ("[alice]\nwrite = ['sha256:12']", "64 hexadecimal digits"),
        ("[alice]\nwrites = ['a']", "writes"),
        ("[alice]\nwrite = ['a']\nevents_max = 0", "at least 1"),
        ("[alice]\nwrite = ['a']\n[Alice]\nwrite = ['b']", "upper and lower case"),
        ("alice = 3", "alice"),
    ],
)
def test_a_file_of_tokens_that_is_wrong_is_refused_with_what_is_wrong(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_tokens(tmp_path / "tokens")
    assert problem in str(refused.value)


def test_a_token_may_be_given_by_its_digest(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f'[alice]\nread = ["sha256:{sha256(b"x").hexdigest()}"]')
    grant = Tokens(tmp_path / "tokens").grant("Bearer x")
    assert grant is not None
    assert (grant.store, grant.rights) == ("alice", "read")
    assert Tokens(tmp_path / "tokens").grant(f"Bearer sha256:{sha256(b'x').hexdigest()}") is None
    assert Tokens(tmp_path / "tokens").grant("Basic x") is None
    (tmp_path / "tokens").write_text(f'[alice]\nread = ["SHA256:{sha256(b"x").hexdigest().upper()}"]')
    assert Tokens(tmp_path / "tokens").grant("Bearer x") == grant


@pytest.mark.parametrize(("mode", "said"), [(0o600, 0), (0o640, 1), (0o644, 1)])
def test_a_file_of_tokens_that_others_may_read_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, said: int
) -> None:
    file = tmp_path / "tokens"
    file.write_text("[alice]\nread = ['a']")
    file.chmod(mode)
    Tokens(file)
    assert len(caplog.records) == said
    assert all("chmod 600" in record.getMessage() for record in caplog.records)


def test_the_command_serves_many_stores_and_closes_them_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "tokens.toml").write_text(TOKENS)
    told = [
        "serve",
        "--stores",
        str(tmp_path / "s"),
        "--tokens",
        str(tmp_path / "tokens.toml"),
        "--port",
        "0",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", *told, "--embedder", "hash", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())
        assert address["page"] == f"{address['url']}/stores/NAME/"
        client = httpx.Client(
            base_url=address["url"], headers={"Authorization": "Bearer alice-writes"}, timeout=180
        )
        with client:
            assert client.post("/stores/alice/api/remember", json={"content": "tea"}).status_code == 201
            assert client.get("/stores/bob/api/status").status_code == 404
            assert (
                client.get("/stores/alice/api/recall", params={"q": "tea"}).json()["hits"][0]["content"]
                == "tea"
            )
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=180)
    assert (server.returncode, "all stores are closed" in errors) == (0, True), errors


def test_options_that_do_not_go_with_many_stores_are_refused() -> None:
    for more in (["--stores", "x"], ["--tokens", "x"], ["--stores", "x", "--tokens", "y", "--token", "t"]):
        refused = CliRunner().invoke(main, ["serve", *more])
        assert (refused.exit_code, "belong together" in refused.output) == (2, True)
