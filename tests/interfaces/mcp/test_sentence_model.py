"""A model by the path of its folder, through its helper, from the command line, MCP and `serve`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from recollect.events.facts import Ingested, Recalled
from recollect.interfaces.model_server.running import helpers
from recollect.interfaces.python.memory import Memory

TESTS = Path(__file__).parent.parent.parent


def recollect(*line: str, store: Path) -> dict[str, object]:
    ran = subprocess.run(
        [sys.executable, "-m", "recollect", *line, "--json", "--store", str(store)], capture_output=True, text=True,
        check=False, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


def recorded_vectors(store: Path, memory_id: str, recall: str) -> tuple[bytes | None, bytes | None]:
    """The vector of a memory and of a question, as the log has them."""
    with Memory.open(store, embedder=None) as memory:
        facts = [one.fact for one in memory.store.log.read(0)]
        kept = next(fact for fact in facts if isinstance(fact, Ingested) and fact.id == memory_id)
        asked = memory.store.event(int(recall[1:])).fact
    assert isinstance(asked, Recalled)
    return kept.vector, asked.question.vector


@pytest.mark.model
@pytest.mark.slow
def test_a_model_by_its_path_everywhere_and_verify_is_exact_after_its_folder_is_deleted(connect, tmp_path):
    code = "import sys; from pathlib import Path; from tiny_model import save_tiny_model as s; s(Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m")], env=environment, capture_output=True, check=True
    )
    folder, store = tmp_path / "m" / "model", tmp_path / "store"
    name = f"st:{folder}"
    kept = recollect("remember", "auth sessions live in postgres", "--embedder", name, store=store)
    assert [one.model.partition("?")[0] for one in helpers() if "m/model" in one.model] == [name]
    answer = recollect("recall", "where are sessions stored?", store=store)
    assert (answer["hits"][0]["id"], answer["degraded"]) == (kept["id"], [])  # type: ignore[index]

    same = recollect("recall", "auth sessions live in postgres", store=store)
    kept_vector, asked_vector = recorded_vectors(store, str(kept["id"]), str(same["id"]))
    assert kept_vector  # "passage: " before what is kept, "query: " before what is asked
    assert asked_vector
    assert kept_vector != asked_vector
    agent = connect(store, embedder=name)
    second = agent.ok("remember", content="redis is a cache")["id"]
    hits = agent.ok("recall", query="what is a cache?")
    assert (second in {hit["id"] for hit in hits["hits"]}, hits["degraded"]) == (True, [])

    served = subprocess.Popen(
        [sys.executable, "-m", "recollect", "serve", "--store", str(store), "--embedder", name, "--port", "0", "--json"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with served:
        assert served.stdout is not None
        url = json.loads(served.stdout.readline())["url"]
        status = httpx.get(f"{url}/api/status", timeout=120).json()
        assert (status["embedder"]["name"], status["embedder"]["dimensions"]) == (name, 16)
        found = httpx.get(f"{url}/api/recall", params={"q": "cache"}, timeout=120).json()
        assert found["hits"][0]["id"] == second
        served.send_signal(signal.SIGINT)
    shutil.rmtree(folder)
    assert recollect("verify", store=store)["exact"] is True
    agent.ok("status")
    with Memory.open(store, embedder=None) as memory:
        assert memory.verify(independent=True).exact
