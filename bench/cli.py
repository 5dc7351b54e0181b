"""What the shell feels: a cold `recollect status` and a warm `recollect recall` at 10,000 memories with MiniLM.

    python bench/cli.py [--memories 10000] [--runs 10]

Each figure is the median of fresh processes: wall time, and the CPU time of the process alone (user + system), which
other work on the machine disturbs less; importing numpy alone is measured beside them as a yardstick. The store, of
sentences embedded with the real model, is made once and kept under bench/results/. The helper runs in a directory
of its own and is sent away at the end.

Expected: a cold status imports click, numpy and msgspec (70 ms) and our modules (50); a recall also asks the helper
for a vector (20), loads the vector index and ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recollect.interfaces.model_server.client import choose_embedder
from recollect.interfaces.model_server.running import stop_helpers
from recollect.interfaces.python.memory import Memory

RESULTS = Path(__file__).parent / "results"
LIMITS_S = {"status cold": 0.3, "recall warm": 0.35}
PEOPLE = ("Ana", "Ben", "Chloe", "Dev", "Eva", "Farid", "Gina", "Hugo", "Ines", "Jonas")
THINGS = (
    "the auth service", "the billing job", "the search index", "the staging cluster", "the mobile app",
    "the nightly backup", "the release notes", "the data warehouse", "the login page", "the message queue",
)  # fmt: skip
DEEDS = ("moved", "rewrote", "paused", "measured", "documented", "reverted", "reviewed", "shipped")
REASONS = (
    "because sessions were lost", "after the incident in March", "to save memory", "before the audit",
    "since nobody used it", "as the customer asked", "so that deploys are safe", "to learn how it behaves",
)  # fmt: skip


def sentences(count: int) -> list[str]:
    rng = random.Random(7)
    return [
        f"{rng.choice(PEOPLE)} {rng.choice(DEEDS)} {rng.choice(THINGS)} {rng.choice(REASONS)}, "
        f"ticket {rng.randrange(10_000)}"
        for _ in range(count)
    ]


def store_of(memories: int) -> Path:
    folder = RESULTS / f"cli-{memories}"
    if not (folder / "done").exists():
        with Memory.open(folder) as memory:
            memory.remember_many(sentences(memories - len(memory.memories())))
            while memory.store.sealer.step():
                pass
            memory.store.checkpoint()
        (folder / "done").touch()
    return folder


def run(arguments: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one Python process."""
    begun = time.perf_counter()
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begun
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, arguments
    return wall, used.ru_utime + used.ru_stime


def measure(arguments: list[str], runs: int) -> dict[str, float]:
    run(arguments)  # the file cache and the byte code, not the model
    times = [run(arguments) for _ in range(runs)]
    return {
        "wall_s": statistics.median(wall for wall, _ in times),
        "wall_s_best": min(wall for wall, _ in times),
        "cpu_s": statistics.median(cpu for _, cpu in times),
    }


def as_installed() -> None:
    """Let Python keep byte code, as the installation of a package does."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def figures(folder: Path, runs: int) -> dict[str, dict[str, float]]:
    store = ["--store", str(folder)]
    recollect = ["-m", "recollect"]
    question = [*recollect, "recall", "who rewrote the billing job?", *store]
    as_installed()
    warm = choose_embedder("minilm", helper="start", tell=print)
    assert warm is not None
    try:
        begun = time.perf_counter()
        warm.embed(["a first text"])
        first = {"wall_s": time.perf_counter() - begun}
        return {
            "recall warm": measure(question, runs),
            "recall by words": measure([*recollect, "recall", "billing", "--embedder", "none", *store], runs),
            "status cold": measure([*recollect, "status", *store], runs),
            "help": measure([*recollect, "--help"], runs),
            "import numpy": measure(["-c", "import numpy"], runs),
            "helper started": first,
        }
    finally:
        stop_helpers()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    folder = store_of(given.memories)
    with tempfile.TemporaryDirectory(dir="/tmp") as runtime:
        os.environ["XDG_RUNTIME_DIR"] = runtime
        found = figures(folder, given.runs)
    for name, values in found.items():
        limit = f"  (limit {LIMITS_S[name]:g} s)" if name in LIMITS_S else ""
        print(f"{name:<18} " + "  ".join(f"{key} {value:.3f}" for key, value in values.items()) + limit)
    report = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **found,
    }
    path = RESULTS / f"cli-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps(report, indent=2), "utf-8")


if __name__ == "__main__":
    main()
