"""python -m tests.simulation --seed 7, or --seeds 10000 --processes 2."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from .runs import Outcome, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, help="one seed, with its last steps")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    if given.seed is not None:
        outcome = run(given.seed)
        print(outcome)
        print(outcome.counts, f"digest {outcome.digest:08x}")
        return bool(outcome.findings)
    return _many(range(given.first, given.first + given.seeds), given.processes, given.json)


def _outcome(seed: int) -> Outcome:
    """A run that breaks down is a finding, and the others go on."""
    try:
        return run(seed)
    except Exception as error:  # noqa: BLE001
        return Outcome(seed, [f"the run broke down: {type(error).__name__}: {error}"])


def _many(seeds: range, processes: int, target: Path | None) -> int:
    started_s = time.monotonic()
    counts: Counter[str] = Counter(seeds=len(seeds))
    failed: list[Outcome] = []
    with ProcessPoolExecutor(processes) as pool:
        for outcome in pool.map(_outcome, seeds, chunksize=20):
            counts.update(outcome.counts)
            if outcome.findings:
                failed.append(outcome)
                print(f"seed {outcome.seed}: {outcome.findings[0][:200]}", flush=True)
    counts["failed"] = len(failed)
    counts["seconds"] = round(time.monotonic() - started_s)
    if failed:
        print(failed[0])
    for name, count in sorted(counts.items()):
        print(f"{name:14s}{count:>10,}")
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(dict(sorted(counts.items())), indent=1), "utf-8")
    return bool(failed)


sys.exit(main())
