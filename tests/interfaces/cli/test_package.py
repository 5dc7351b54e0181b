"""The package as it is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect.interfaces.python.memory import Memory

# Without `site`, which imports what it likes, the package has to be found by its path.


def test_memory_is_the_packages_front_door():
    assert recollect.Memory is Memory
    with pytest.raises(AttributeError, match="Memori"):
        recollect.Memori  # noqa: B018


@pytest.mark.parametrize("heavy", ["numpy", "hnswlib", "duckdb", "rich", "torch", "sentence_transformers"])
def test_the_command_line_starts_without_heavy_imports(heavy: str):
    script = f"import sys, recollect.interfaces.cli.app; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("line", ["recall x", "memories", "log", "get m", "history m", "why r4 m", "status"])
def test_a_command_that_asks_no_sql_does_without_duckdb_and_the_reference_bm25(line: str, tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("x marks the spot", id="m")
        memory.recall("x")
    assert _imported("duckdb rank_bm25", line, tmp_path) == []


def _imported(packages: str, line: str, store: Path) -> list[str]:
    """Which of these packages a command in a pipe imports."""
    script = (
        "import sys; from recollect.interfaces.cli.app import main; main(sys.argv[2:], standalone_mode=False); "
        "print('\\n', *(name for name in sys.argv[1].split() if name in sys.modules))"
    )
    words = [*line.split(), "--store", str(store), "--embedder", "hash"]
    done = subprocess.run([sys.executable, "-c", script, packages, *words], check=True, capture_output=True)
    assert done.stderr == b""
    return done.stdout.decode().splitlines()[-1].split()


@pytest.mark.parametrize("line", ["recall x", "get m", "status", "remember y", "access m"])
def test_a_command_in_a_pipe_does_not_wait_for_what_draws_colour(line: str, tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("x marks the spot", id="m")
    assert _imported("rich", line, tmp_path) == []


def test_opening_a_store_does_not_import_the_model(tmp_path):
    script = (
        "import sys; from recollect import Memory; m = Memory.open(sys.argv[1]); m.status(); m.close(); "
        "sys.exit('torch' in sys.modules or 'sentence_transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 0


def test_a_local_store_needs_none_of_the_packages_for_many_machines(tmp_path: Path) -> None:
    """What the extras bring is neither imported nor missed by a store in a directory."""
    program = """
import importlib.util
import sys

class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"nats", "obstore", "cryptography", "moto"}:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Blocked())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *_: None if name in {"nats", "obstore", "cryptography"} else found(name)
from recollect.interfaces.cli.app import main
from recollect.web import serving
from recollect.interfaces.cli import replicate
store = sys.argv[1]
for line in (["remember", "tea", "--id", "t"], ["recall", "tea"], ["verify"], ["status"], ["doctor"], ["checkpoint"],
             ["replicate", store, store + "2"], ["erase", "t", "--yes"]):
    where = [] if line[0] == "replicate" else ["--store", store]
    main([*line, *where], standalone_mode=False)
missing = main(["recall", "tea", "--store", "s3://bucket/x"], standalone_mode=True)
"""
    environment = {**os.environ, "RECOLLECT_EMBEDDER": "hash"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "store")],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "pip install 'recollect[s3]'" in done.stderr
    assert "erased @" in done.stdout
