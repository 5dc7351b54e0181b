"""python -m tests.torture: ten thousand simulated runs, a fault at every file operation of every command, and a
cluster of three real nats-servers that are killed and paused while 100,000 events are appended.

Ends with a table for docs/reliability.md; the figures are in bench/results/torture.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--stride", type=int, default=1, help="fail only every so many file operations")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cluster-events", type=int, default=100_000)
    given = parser.parse_args()
    processes = ["--processes", str(given.processes)]
    simulated, simulation = _run("simulation", ["--seeds", str(given.seeds), *processes])
    injected, faults = _run("faults", ["--stride", str(given.stride), *processes])
    crashed, cluster = _run("events.packs.cluster_crashes", ["--events", str(given.cluster_events)])
    replicas = _replicas()
    figures = {"simulation": simulation, "faults": faults, "cluster": cluster}
    (RESULTS / "torture.json").write_text(json.dumps(figures, indent=1))
    print(table(simulation, faults, cluster))
    return simulated or injected or crashed or replicas


def _run(name: str, options: list[str]) -> tuple[int, dict[str, int]]:
    target = RESULTS / f"{name.rpartition('.')[2]}.json"
    target.unlink(missing_ok=True)
    program = ROOT / "tests" / Path(*name.split("."))
    which = [str(program.with_suffix(".py"))] if "." in name else ["-m", f"tests.{name}"]
    command = [sys.executable, *which, *options, "--json", str(target)]
    done = subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"})
    return done.returncode, json.loads(target.read_text("utf-8"))


def _replicas() -> int:
    """Three replicas in three processes write for 30 s while the leader is killed, and rank the same bits."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/engine/test_replicas.py"]
    return subprocess.run(
        command, check=False, cwd=ROOT, env={**os.environ, "REPLICA_SECONDS": "30"}
    ).returncode


def table(simulation: dict[str, int], faults: dict[str, int], cluster: dict[str, int]) -> str:
    rows = [
        ("simulated runs (seeds)", simulation["seeds"]),
        ("operations", simulation["operations"]),
        ("process crashes", simulation.get("crashes", 0)),
        ("power cuts", simulation.get("power cuts", 0)),
        ("simulated disk faults", simulation.get("faults", 0)),
        ("erasures, dreams, re-embeddings", sum(simulation.get(k, 0) for k in ("erasures", "dreams", "reembeddings"))),
        ("views compared with a fold from the start", simulation.get("views", 0)),
        ("recalls replayed", simulation.get("replayed", 0)),
        ("acknowledged events", simulation.get("acknowledged", 0)),
        ("lost", simulation.get("lost", 0)),
        ("silently wrong", simulation.get("silent", 0)),
        ("seeds that found something", simulation["failed"]),
        ("faults under real commands", faults["faults"]),
        ("of them with a problem", faults["problems"]),
        ("events on three nats-servers (2.15.1, R3, synced always)", cluster["events"]),
        ("leaders killed", cluster["kill_leader"]),
        ("leaders paused", cluster["pause_leader"]),
        ("all three killed", cluster["kill_all"]),
        ("lost, doubled or torn", cluster["lost"] + cluster["doubled"] + cluster["torn"]),
        ("replicas with another chain", cluster["replicas with another chain"]),
        ("minutes", round((simulation["seconds"] + faults["seconds"] + cluster["seconds"]) / 60)),
    ]  # fmt: skip
    return "\n".join(
        ["", "| torture | |", "|---|---:|", *(f"| {name} | {count:,} |" for name, count in rows)]
    )


if __name__ == "__main__":
    sys.exit(main())
