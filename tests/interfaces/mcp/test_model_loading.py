"""What a server does while its model is loading, and when it cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_clients import HANG_S, python, until
from mcp import StdioServerParameters

GATED = """
import sys, time
from pathlib import Path
from recollect.interfaces.mcp.lazy_store import LazyStore
from recollect.interfaces.mcp.stdio import run_and_leave
from recollect.interfaces.mcp.tool import Scope
from recollect.engine.embedding.embedder import HashEmbedder
from recollect.interfaces.python.memory import Memory

folder = Path(sys.argv[1])

class Gated(HashEmbedder):
    "A model that is loaded once the file `go` exists, and cannot be loaded once `fail` exists."
    name = "gated/1"

    @property
    def ready(self):
        return (folder / "go").exists()

    @property
    def state(self):
        return "ready" if self.ready else "not loaded"

    def embed(self, texts):
        while not self.ready:
            if (folder / "fail").exists():
                raise RuntimeError("the weights are missing")
            time.sleep(0.005)
        return super().embed(texts)

run_and_leave(LazyStore(lambda: Memory.open(folder / "store", embedder=Gated())), Scope())
"""


FAILED = (
    "the embedder 'gated/1' failed (RuntimeError: the weights are missing); it must return one vector of finite "
    "numbers per text"
)


def gated(folder: Path) -> StdioServerParameters:
    return python("-c", GATED, str(folder))


def test_recall_answers_by_words_and_says_so_while_remember_waits_for_the_model(connect, tmp_path):
    agent = connect(gated(tmp_path))
    answer = agent.ok("recall", query="tea")
    assert answer["degraded"] == ["vector: gated/1 is still loading"]
    status = agent.ok("status")
    assert (status["model"], status["degraded"]) == ("not loaded", ["vector: gated/1 is still loading"])
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def remember() -> object:
        return await agent.client.call_tool("remember", {"content": "Tea is hot"}, progress_callback=hear)

    waiting = agent.portal.start_task_soon(remember)
    until(lambda: bool(heard), "a progress notification")
    assert not waiting.done()
    assert set(heard) == {"waiting for the model to load"}
    assert agent.ok("status")["memories"] == 0
    (tmp_path / "go").touch()
    assert not waiting.result(timeout=HANG_S).is_error
    answer = agent.ok("recall", query="tea", factors=True)
    assert answer["degraded"] == agent.ok("status")["degraded"] == []
    assert "vector" in answer["hits"][0]["factors"]


def test_a_model_that_cannot_be_loaded_is_not_said_to_be_loading(connect, tmp_path):
    (tmp_path / "fail").touch()
    agent = connect(gated(tmp_path))
    assert "the weights are missing" in agent.refused("remember", content="Tea is hot")
    assert agent.ok("recall", query="tea")["degraded"] == [f"vector: {FAILED}; ranked by words only"]
    status = agent.ok("status")
    assert "the weights are missing" in status["model"]
    assert status["degraded"] == [f"vector: {FAILED}; ranked by words only"]


@pytest.mark.model
def test_with_the_real_model_the_first_recall_does_not_wait_for_it(connect, tmp_path):
    agent = connect(tmp_path / "store", "--no-daemon", embedder="minilm")
    assert agent.ok("recall", query="tea")["degraded"] == ["vector: minilm/all-MiniLM-L6-v2 is still loading"]
    memory = agent.ok("remember", content="Tea is a hot drink")["id"]
    answer = agent.ok("recall", query="a warm beverage")
    assert answer["degraded"] == []
    assert [hit["id"] for hit in answer["hits"]] == [memory]
