"""make bench: everything that is promised about speed, measured in one go next to the peers.

One machine, one run; prints a table, writes bench/results/<date>-<commit>.json and latest.json after every part,
and docs/performance.md at the end. `--quick` does the same at 10,000 memories and leaves page and latest.json
alone. A part that would take longer than the cap is cut, and the results say so.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import cli
import growth
import logs
import machine
import musts
import ours
import peers
import real
import report
import side_by_side
import stores
from corpus import Corpus
from tables import printed

FOLDER = Path(__file__).parent / "results"
MILLION = 1_000_000
AGED_MAX = 100_000
SHELL = 10_000
Result = TypeVar("Result")


def apart(work: Callable[..., Result], *arguments: object, **options: object) -> Result:
    """`work` in a process of its own, which may start others: the threads of a peer measured before are not in it."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments, **options).result()


class Run:
    """A run under way: its results so far, and where it keeps its stores."""

    def __init__(self, arguments: argparse.Namespace, root: Path) -> None:
        self.sizes: list[int] = sorted(arguments.sizes)
        self.quick: bool = arguments.quick
        self.root = root
        self.stores: Path = arguments.stores or root / "stores"
        self.stores.mkdir(parents=True, exist_ok=True)
        self.effort = side_by_side.QUICK if self.quick else side_by_side.THOROUGH
        self.begun = time.monotonic()
        self.cap_s: float = arguments.cap_minutes * 60
        self.results: dict[str, Any] = {
            "date": time.strftime("%Y-%m-%d"),
            "commit": machine.commit(),
            "machine": machine.describe(),
            "fsync_per_s": machine.fsyncs_per_s(root),
            "additions_ms": {"before": machine.additions_ms()},
            "quick": self.quick,
            "ours": {},
            "peers": {},
            "clients": {},
            "cut": [],
        }
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{self.results['commit'].rstrip('+')}"
        self.path = FOLDER / f"{'quick-' if self.quick else ''}{name}.json"

    def everything(self) -> None:
        """The largest size comes after everything that does not need it."""
        for size in [size for size in self.sizes if size < MILLION]:
            self.at(size)
        ages = self._past_and_log()
        for size in [size for size in self.sizes if size >= MILLION and not self._cut(size)]:
            self.at(size)
        self._grow(ages)
        if self.quick:
            self.results["cut"].append("real text is left out of a quick run")
        else:
            self._real()
        self.results["additions_ms"]["after"] = machine.additions_ms()
        self.save()

    def _past_and_log(self) -> list[tuple[float, float]]:
        """What is measured at one size only; returns the points of the picture of age."""
        size = max((size for size in self.sizes if size <= AGED_MAX), default=AGED_MAX)
        self._say(f"the past of {size:,} memories")
        figures, ages = apart(ours.as_of, size, self.stores / f"grown-{size}")
        self._say("bisect")
        figures |= apart(ours.bisected, size, 10 * size)
        self._say("MCP handshake")
        figures |= apart(ours.handshake, self._fresh("mcp"), size)
        self.results["ours"].setdefault(str(size), {}).update(figures)
        if SHELL in self.sizes and not self.quick:
            self._say("the shell")
            self.results["ours"][str(SHELL)] |= apart(ours.shell, SHELL)
        self._say("the log")
        self.results["log"] = apart(logs.measure, self._fresh("logs"), events=min(size, 50_000))
        self.save()
        return ages

    def at(self, size: int) -> None:
        """Ours and the peers at one size."""
        self._say(f"{size:,} memories")
        store, scratch = self.stores / str(size), self._fresh(str(size))
        if (store / "bench.json").is_file():
            self.results["cut"].append(
                f"the store of {size:,} memories was made by an earlier run, which its append, rebuild and sealing "
                f"rates come from"
            )
        figures = apart(stores.made, store, Corpus(size))
        recalls = 100 if self.quick else 1_000
        figures |= apart(ours.measure, size, store, scratch, recalls=recalls)
        figures["resident_gb"] = figures["resident_bytes"] / 2**30
        self.results["ours"][str(size)] = figures
        self.save()
        smaller = max((int(known) for known in self.results["peers"]), default=0)
        table, waits = side_by_side.measure(
            side_by_side.synthetic(size),
            scratch,
            effort=self.effort,
            ours=store,
            before=self.results["peers"].get(str(smaller)),
            growth=size / smaller if smaller and size >= MILLION else 1.0,
        )
        if "build_s" in figures:
            table[musts.OURS]["build_s"] = figures["build_s"]
        self.results["peers"][str(size)], self.results["clients"][str(size)] = table, waits
        shutil.rmtree(scratch)
        self.save()

    def _cut(self, size: int) -> bool:
        """Whether a size would go beyond the cap, judged by how long a smaller one took to seal."""
        known = self.results["ours"]
        if size < MILLION or not known or (self.stores / str(size) / "bench.json").is_file():
            return False
        largest = max(map(int, known))
        expected = 1.5 * known[str(largest)]["hnsw_build_s"] * size / largest
        spent = time.monotonic() - self.begun
        if spent + expected <= self.cap_s:
            return False
        self.results["cut"].append(
            f"{size:,} memories: after {spent / 60:.0f} minutes, sealing would take about {expected / 60:.0f} more, "
            f"and the cap is {self.cap_s / 60:.0f} (`--cap-minutes`)"
        )
        return True

    def _grow(self, ages: list[tuple[float, float]]) -> None:
        largest = max(self.sizes)
        steps = (1_000, 10_000) if self.quick else (1_000, 3_000, 10_000, 30_000, 100_000, MILLION)
        sizes = [size for size in steps if size <= largest]
        sizes = [size for size in sizes if size < MILLION or str(size) in self.results["ours"]]
        versions = (1, 4, 16) if self.quick else (1, 2, 4, 8, 16, 32, 64)
        recalls = (0, 1_000) if self.quick else (0, 1_000, 10_000, 100_000)
        self._say("growth: memories")
        grown = {"memories": apart(growth.with_memories, sizes, self.stores)}
        self._say("growth: versions")
        grown["versions"] = apart(growth.with_versions, versions, self._fresh("versions"))
        self._say("growth: recalls")
        grown["recalls"] = apart(growth.with_recalls, recalls, self.stores, self._fresh("recalls"))
        grown["age"] = {"as_of_ms": ages}
        self.results["growth"] = grown

    def _real(self) -> None:
        self.results["real"] = {}
        for name, collection in real.collections():
            self._say(name)
            if isinstance(collection, peers.Missing):
                self.results["real"][name] = {"missing": collection.reason}
                continue
            table, _ = side_by_side.measure(collection, self._fresh("real"), effort=self.effort)
            self.results["real"][name] = {"texts": len(collection.texts), "systems": table}

    def _fresh(self, name: str) -> Path:
        folder = self.root / f"scratch-{name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _say(self, what: str) -> None:
        print(f"[{(time.monotonic() - self.begun) / 60:5.1f} min] {what}", file=sys.stderr, flush=True)

    def save(self) -> None:
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(self.results, indent=1)
        self.path.write_text(text, "utf-8")
        if not self.quick:
            report.LATEST.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of memories")
    parser.add_argument("--quick", action="store_true", help="10,000 memories, small samples, no page")
    parser.add_argument("--stores", type=Path, help="keep the stores here and use those that are there")
    parser.add_argument(
        "--cap-minutes", type=float, default=120.0, help="when a million memories are not begun"
    )
    arguments = parser.parse_args()
    arguments.sizes = arguments.sizes or ([10_000] if arguments.quick else [10_000, 100_000, MILLION])
    cli.as_installed()
    root = Path(tempfile.mkdtemp(prefix="recollect-bench-"))
    try:
        run = Run(arguments, root)
        run.everything()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(printed(run.results))
    print(f"\nwritten: {run.path}")
    if not run.quick:
        report.write(run.results)
        print(f"written: {report.PAGE}")


if __name__ == "__main__":
    main()
