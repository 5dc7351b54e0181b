"""Agents and browsers while the embedder is away: what they tell is kept, says so, and gets its vector by itself."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from agent_clients import until
from hung_helper import hung
from model_servers import ModelServer, says

from recollect.interfaces.python.memory import Memory

__all__ = ["hung"]
KEPT = "the text is kept without a vector until `recollect reembed --missing`"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    yield one
    one.close()


@contextmanager
def serving(store: Path, embedder: str) -> Iterator[str]:
    line = [sys.executable, "-m", "recollect", "serve", "--store", str(store), "--embedder", embedder, "--port", "0", "--json"]  # fmt: skip
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGINT)


def without_vector(store: Path) -> int:
    with Memory.open(store, embedder=None) as memory:
        return memory.status().without_vector


def started(store: Path, embedder: str) -> None:
    with Memory.open(store, embedder=embedder) as memory:
        memory.remember("auth sessions live in Postgres")


@pytest.mark.slow
def test_an_agent_beside_a_hung_helper_is_answered_by_words_and_its_memory_is_kept(hung, connect, tmp_path):
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
    agent = connect(tmp_path / "store", embedder="minilm")
    told = agent.ok("remember", content="redis is a cache", id="redis")
    assert (told["id"], len(told["degraded"])) == ("redis", 1)
    assert f"pid {hung}) does not answer" in told["degraded"][0]
    assert told["degraded"][0].endswith(KEPT)
    revised = agent.ok("revise", id="redis", content="redis is a cache on port 6379")
    assert revised["degraded"][0].endswith(KEPT)
    answer = agent.ok("recall", query="cache")
    assert [hit["id"] for hit in answer["hits"]] == ["redis"]
    assert answer["degraded"][0].endswith("ranked by words only")


@pytest.mark.slow
def test_the_http_api_beside_a_hung_helper_keeps_what_it_is_told(hung, tmp_path):
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
    with serving(tmp_path / "store", "minilm") as url:
        told = httpx.post(f"{url}/api/remember", json={"content": "redis is a cache"}, timeout=120)
        assert told.status_code == 201
        assert told.json()["degraded"][0].endswith(KEPT)


@pytest.mark.slow
def test_a_memory_of_an_agent_gets_its_vector_when_the_embeddings_server_is_back(connect, server, tmp_path):
    started(tmp_path, server.url)
    server.replies = [says(401)] * 1000
    agent = connect(tmp_path, embedder=server.url)
    told = agent.ok("remember", content="redis is a cache")
    assert "401" in told["degraded"][0]
    assert "is away" in agent.ok("recall", query="cache")["degraded"][0]
    assert without_vector(tmp_path) == 1
    server.replies.clear()
    until(lambda: without_vector(tmp_path) == 0, "the vector")
    assert agent.ok("recall", query="cache")["degraded"] == []


@pytest.mark.slow
def test_a_memory_posted_to_serve_gets_its_vector_when_the_embeddings_server_is_back(server, tmp_path):
    started(tmp_path, server.url)
    server.replies = [says(401)] * 1000
    with serving(tmp_path, server.url) as url:
        told = httpx.post(f"{url}/api/remember", json={"content": "redis is a cache"}, timeout=120).json()
        assert told["degraded"][0].endswith(KEPT)
        server.replies.clear()
        until(lambda: without_vector(tmp_path) == 0, "the vector")


@pytest.mark.slow
def test_a_watched_note_gets_its_vector_when_the_embeddings_server_is_back(server, tmp_path):
    notes, store = tmp_path / "notes", tmp_path / "store"
    notes.mkdir()
    (notes / "auth.md").write_text("Auth sessions live in Postgres.", "utf-8")
    started(store, server.url)
    server.replies = [says(401)] * 1000
    line = [
        sys.executable,
        "-m",
        "recollect",
        "watch",
        str(notes),
        "--store",
        str(store),
        "--embedder",
        server.url,
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: without_vector(store) == 1, "the note")
            server.replies.clear()
            until(lambda: without_vector(store) == 0, "the vector")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()
    with Memory.open(store, embedder=None) as memory:
        assert memory.status().visible == 2
        assert memory.verify().exact
