"""The real model through its helper, from the shell: the same vectors, and nothing of it left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.engine.embedding.minilm import MiniLm
from recollect.interfaces.model_server.client import HelperEmbedder, choose_embedder
from recollect.interfaces.model_server.running import stop_helpers
from recollect.interfaces.python.memory import Memory


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rw", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    assert all(one.stopped for one in stop_helpers())
    shutil.rmtree(folder)


def recollect(*arguments: str, store: Path, says: str = "") -> dict[str, object]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RECOLLECT_")}
    ran = subprocess.run(
        [sys.executable, "-m", "recollect", *arguments, "--json", "--store", str(store)],
        capture_output=True, text=True, check=True, env=environment, timeout=300,
    )  # fmt: skip
    assert ran.stderr == says
    found: dict[str, object] = json.loads(ran.stdout)
    return found


@pytest.mark.model
def test_the_shell_keeps_the_model_warm_and_its_vectors_are_those_of_the_model(runtime, tmp_path):
    store, warm = tmp_path / "store", choose_embedder("minilm", helper="running")
    assert isinstance(warm, HelperEmbedder)
    remembered = recollect(
        "remember", "Auth sessions live in Postgres, not Redis", store=store,
        says="recollect: loading minilm/all-MiniLM-L6-v2 in a helper; it stays loaded for 10 idle minutes\n",
    )  # fmt: skip
    helper = warm.helper()
    assert helper is not None
    answer = recollect("recall", "where are login sessions kept?", store=store)
    assert [hit["id"] for hit in answer["hits"]] == [remembered["id"]]
    assert answer["degraded"] == []
    again = warm.helper()
    assert again is not None
    assert again.pid == helper.pid
    assert f"warm helper pid {helper.pid}" in recollect("status", store=store)["embedder"]["state"]
    with Memory.open(store) as memory:
        assert memory.recall("where are login sessions kept?").degraded == ()
        assert f"warm helper pid {helper.pid}" in memory.status().embedder.state
    model = MiniLm()
    for text in ("where are login sessions kept?", "", "ж 日本語 🙂", "long " * 2_000):
        assert warm.embed([text]).tobytes() == model.embed([text]).tobytes()
