"""A real server on a free port, in a process of its own, over a real store."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.web.app import application
from recollect.web.forms import Serving

NOTES = {
    "auth": "Auth sessions live in Postgres, not Redis",
    "redis": "Redis is only used for rate limiting",
    "deploy": "Deploys happen on Tuesdays after the stand-up",
    "folder/notes.md#1": "Session cookies expire after 14 days",
    "html": "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\"> sessions",
}
ROOT = Path(__file__).parents[3]
QUESTION = "where are auth sessions stored?"


class Server:
    """A `recollect serve` that runs; `stop` interrupts it as Ctrl-C does."""

    def __init__(self, store: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "recollect", "serve", "--store", str(store), "--embedder", "hash",
             "--port", "0", "--json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate(timeout=120)[1])
        self.address = json.loads(line)
        self.client = httpx.Client(base_url=self.address["url"], timeout=120)

    def get(self, path: str, expect: int = 200, **params: object) -> dict:
        """What the server answers; one whose page asked much meanwhile says when to ask again."""
        response = self.client.get(path, params=params or None)
        while response.status_code == 429 != expect:
            time.sleep(int(response.headers["retry-after"]))
            response = self.client.get(path, params=params or None)
        assert response.status_code == expect, response.text
        return response.json()

    def send(self, method: str, path: str, value: object, expect: int = 200) -> dict:
        response = self.client.request(method, path, json=value)
        assert response.status_code == expect, response.text
        return response.json()

    def stop(self, how: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(how)
        _, errors = self.process.communicate(timeout=180)
        return self.process.returncode, errors


def fill(store: Path) -> None:
    with Memory.open(store, embedder="hash") as memory:
        memory.remember_many([{"id": id_, "content": text} for id_, text in NOTES.items()])
        memory.recall(QUESTION, k=2, session="monday")


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """One server for the tests of a module; they leave its memories as they were."""
    store = tmp_path_factory.mktemp("web") / "store"
    fill(store)
    running = Server(store)
    yield running
    code, errors = running.stop()
    assert code == 0, errors
    assert "Traceback" not in errors


@pytest.fixture(scope="module")
def ask(tmp_path_factory) -> Iterator[Callable[..., httpx.Response]]:
    """Requests to the application in this process, over a store of its own."""
    store = tmp_path_factory.mktemp("web") / "store"
    fill(store)
    with Memory.open(store, embedder="hash") as memory:

        def ask_(method: str, path: str, *, read_only: bool = False, **request: object) -> httpx.Response:
            async def main() -> httpx.Response:
                async with AsyncMemory(memory, owner=False) as shared:
                    app = application(shared, Serving(read_only=read_only))
                    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
                    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                        return await client.request(method, path, **request)

            return asyncio.run(main())

        yield ask_


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Server]]:
    """Starts servers over the test's own store; all are stopped at the end."""
    running: list[Server] = []

    def start_(*options: str) -> Server:
        if not (tmp_path / "store").exists():
            fill(tmp_path / "store")
        running.append(Server(tmp_path / "store", *options))
        return running[-1]

    yield start_
    for one in running:
        one.stop()


@pytest.fixture
def start_empty(tmp_path) -> Iterator[Callable[[], Server]]:
    """Starts a server over a store in which nothing was ever told."""
    running: list[Server] = []

    def start_() -> Server:
        running.append(Server(tmp_path / "empty"))
        return running[-1]

    yield start_
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def page_store(tmp_path_factory) -> Path:
    """The incident of docs/examples: three weeks, 2,000 memories, 300 recalls, 20 dreams, 2 erasures."""
    store = tmp_path_factory.mktemp("page") / "store"
    spec = importlib.util.spec_from_file_location("incident", ROOT / "docs" / "examples" / "incident.py")
    incident = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(incident)
    incident.make(store)
    with Memory.open(store, embedder="hash", clock=lambda: incident.END_US + 1) as memory:
        complaint = memory.recalls(grep="refund", limit=1).recalls[0].id
        memory.expect(complaint, incident.POLICY, first=True)
        memory.expect(complaint, incident.HANDBOOK, top=3)
    return store


@pytest.fixture(scope="session")
def page_world(page_store: Path) -> Iterator[Server]:
    running = Server(page_store)
    yield running
    code, errors = running.stop()
    assert code == 0, errors
    assert "Traceback" not in errors
