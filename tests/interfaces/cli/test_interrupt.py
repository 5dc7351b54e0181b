"""Ctrl-C: a real process gets a real SIGINT in the middle of its work, ends with 130 and says what stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory

MEMORIES = 40
INTERRUPTED_AT_REPORT = """
import os, signal, sys
from recollect.interfaces.cli import progress

report = progress._Bar.report

def stop(bar, done, total):
    report(bar, done, total)
    if done:
        os.kill(os.getpid(), signal.SIGINT)

progress._Bar.report = stop
from recollect.interfaces.cli.app import main
main(prog_name="recollect")
"""
INTERRUPTED_WHILE_EMBEDDING = """
import os, signal
from recollect.engine.embedding.embedder import HashEmbedder

def stop(self, texts):
    os.kill(os.getpid(), signal.SIGINT)

HashEmbedder.embed = stop
from recollect.interfaces.cli.app import main
main(prog_name="recollect")
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember_many([f"note {n} about auth sessions" for n in range(MEMORIES)])
        for n in range(20):
            memory.recall(f"note {n}", k=3)
    return tmp_path / "store"


def run(code: str, *arguments: str, store: Path) -> tuple[int, str, str]:
    environment = {**os.environ, "RECOLLECT_STORE": str(store), "RECOLLECT_EMBEDDER": "hash"}
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, env=environment, timeout=120,
    )  # fmt: skip
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("arguments", "label"), [(["verify"], "verifying"), (["compare", "recollect", "reverie"], "comparing")]
)
def test_long_reading_stops_with_how_far_it_came(store, arguments, label):
    code, out, said = run(INTERRUPTED_AT_REPORT, *arguments, store=store)
    assert (code, out) == (130, "")
    assert said.count("\n") == 1
    assert said.startswith(f"recollect: interrupted; {label}: ")
    done, _, rest = said.split(f"{label}: ")[1].partition(" of ")
    assert 0 < int(done) < int(rest.split(";")[0]) == 20
    with Memory.open(store, embedder="hash") as memory:
        assert said.endswith(f"the store is whole, its head is @{memory.status().head}\n")
        assert memory.verify().exact


def test_an_interrupted_import_keeps_what_it_wrote_and_the_next_one_goes_on(store, tmp_path):
    exported, copy = tmp_path / "log.jsonl", tmp_path / "copy"
    with Memory.open(store, embedder="hash") as memory:
        memory.export(exported)
        whole = memory.status().head
    small_batches = "from recollect.events import transfer; transfer.BATCH_EVENTS = 16\n"
    code, _, said = run(small_batches + INTERRUPTED_AT_REPORT, "import", str(exported), store=copy)
    assert code == 130
    assert "recollect: interrupted; importing: " in said.splitlines()[-1]
    with Memory.open(copy, embedder="hash") as memory:
        assert said.endswith(f"the store is whole, its head is @{memory.status().head}\n")
        assert memory.status().head < whole
        memory.import_(exported)
        assert memory.status().head == whole
        assert memory.verify().exact


def test_an_interrupted_remember_writes_nothing(store):
    with Memory.open(store, embedder="hash") as memory:
        before = memory.status().head
    code, out, said = run(INTERRUPTED_WHILE_EMBEDDING, "remember", "never told", store=store)
    assert (code, out) == (130, "")
    assert said == f"recollect: interrupted; the store is whole, its head is @{before}\n"
    with Memory.open(store, embedder="hash") as memory:
        assert memory.status().head == before
        assert memory.status().memories == MEMORIES
