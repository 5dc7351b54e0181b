"""Commands beside a model helper that was stopped in its tracks: they answer or fail at once, and say what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from hung_helper import hung

from recollect.interfaces.python.memory import Memory

__all__ = ["hung"]


def recollect(*line: str, store: Path) -> subprocess.CompletedProcess[str]:
    """The commands wait for two seconds; the rest is for a loaded machine, and less than a model may take to answer."""
    return subprocess.run(
        [sys.executable, "-m", "recollect", *line, "--store", str(store)],
        capture_output=True, text=True, check=False, env=dict(os.environ), timeout=300,
    )  # fmt: skip


def test_recall_answers_by_words_remember_keeps_the_text_alone_and_status_tells_all_with_what_to_do(
    hung, tmp_path
):
    store, remedy = tmp_path / "store", f"pid {hung}) does not answer; end it with `recollect helper stop`"
    with Memory.open(store, embedder=None) as memory:
        kept = memory.remember("Auth sessions live in Postgres")
    answer = recollect("recall", "auth sessions", "--embedder", "minilm", "--json", store=store)
    found = json.loads(answer.stdout)
    assert [hit["id"] for hit in found["hits"]] == [kept]
    assert remedy in found["degraded"][0]
    assert found["degraded"][0].endswith("ranked by words only")
    told = recollect("remember", "Redis is a cache", "--embedder", "minilm", store=store)
    assert told.returncode == 0
    assert remedy in told.stderr
    assert "the text is kept without a vector" in told.stderr
    assert len(told.stderr.splitlines()) == 1
    status = json.loads(recollect("status", "--embedder", "minilm", "--json", store=store).stdout)
    assert status["memories"] == 2
    assert remedy in status["embedder"]["state"]
    assert any(remedy in problem for problem in status["degraded"])


def test_the_helper_is_stopped_by_the_command_that_was_named(hung, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "recollect", "helper", "stop"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.stdout == f"pid {hung}  minilm  stopped\n"


def test_pythons_recall_answers_by_words_at_once_and_loads_the_model_meanwhile(hung, tmp_path):
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        kept = memory.remember("Auth sessions live in Postgres")
    loaded: list[str] = []
    with Memory.open(tmp_path / "store", embedder="minilm", tell=loaded.append) as memory:
        answer = memory.recall("auth sessions")
        assert [hit.id for hit in answer.hits] == [kept]
        assert f"pid {hung}) does not answer" in answer.degraded[0]
        assert answer.degraded[0].endswith("ranked by words only")
        assert len(loaded) == 1
        assert "the model is loaded in this process instead" in loaded[0]
        memory.load_model()
        assert memory.embedder is not None
        assert memory.embedder.ready
