"""python -m tests.torture: ten thousand simulated runs, a fault at every file operation of every command, and a
cluster of three real nats-servers that are killed and paused while 100,000 events are appended; and every other proof of
the log for many machines, where one that is skipped is a failure.

Ends with a table for docs/reliability.md; the figures are in bench/results/torture.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
PACKS = "tests/events/packs"

# The first proof, a cluster that is killed and paused, is `cluster_crashes`, which runs by itself.
PROOFS = {
    "2, a payload byte flipped (JetStream, nats-server 2.15.1 × 3)": [
        f"{PACKS}/test_jetstream.py::test_a_byte_flipped_on_one_of_three_servers_is_found_and_the_pack_read_from_another"
    ],
    "3, a log cut or rewritten (memory, directory, nats-server 2.15.1)": [
        f"{PACKS}/test_pack_log.py",
        f"{PACKS}/test_jetstream.py::test_a_replica_of_the_old_stream_refuses_a_stream_that_was_made_anew",
    ],
    "4, key boxes, leases and blobs (memory, directory, S3 by moto, nats-server 2.15.1)": [
        f"{PACKS}/test_shared_files.py",
        f"{PACKS}/test_pack_log_contract.py",
        "tests/engine/test_built_once.py",
    ],
    "5, three replicas for 30 s with the leader killed (JetStream, nats-server 2.15.1 × 3)": [
        "tests/engine/test_replicas.py"
    ],
    "6, requests across stores (HTTP, directory)": ["tests/interfaces/web/test_many_stores.py"],
}


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
    proofs = _proofs()
    figures = {"simulation": simulation, "faults": faults, "cluster": cluster}
    (RESULTS / "torture.json").write_text(json.dumps(figures, indent=1))
    print(table(simulation, faults, cluster))
    return simulated or injected or crashed or proofs


def _run(name: str, options: list[str]) -> tuple[int, dict[str, int]]:
    target = RESULTS / f"{name.rpartition('.')[2]}.json"
    target.unlink(missing_ok=True)
    program = ROOT / "tests" / Path(*name.split("."))
    which = [str(program.with_suffix(".py"))] if "." in name else ["-m", f"tests.{name}"]
    command = [sys.executable, *which, *options, "--json", str(target)]
    done = subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"})
    return done.returncode, json.loads(target.read_text("utf-8"))


def _proofs() -> int:
    """The proofs of the log for many machines, each on real servers; one that is skipped, or not there, is a failure."""
    status = 0
    for name, tests in PROOFS.items():
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                f"--junitxml={report}",
                *tests,
            ]
            environment = {**os.environ, "REPLICA_SECONDS": "30"}
            done = subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode
            ran, skipped = counted(report)
        print(f"proof {name}: {ran} tests ran, {skipped} skipped{'' if done == 0 else ', FAILED'}")
        status = status or done or int(skipped > 0 or ran == 0)
    return status


def counted(report: Path) -> tuple[int, int]:
    """How many tests a report says ran, and how many were skipped."""
    if not report.exists():
        return 0, 0
    cases = ElementTree.parse(report).getroot().iter("testcase")
    skipped = [case.find("skipped") is not None for case in cases]
    return skipped.count(False), skipped.count(True)


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
