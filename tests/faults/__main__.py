"""python -m tests.faults: every file operation of every scene fails in every way."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .runs import KINDS, SCENES, compiled, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--scene", choices=SCENES, action="append")
    parser.add_argument("--json", type=Path, help="write the figures here")
    given = parser.parse_args()
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.processes) as pool:
        library = compiled(Path(folder))
        found = list(pool.map(lambda scene: run(scene, library, stride=given.stride), given.scene or SCENES))
    for figures in found:
        for problem in figures.problems:
            print(f"{figures.scene}: {problem}")
    for figures in found:
        print(f"{figures.scene:18s}{figures.operations:6d} operations{figures.faults:7d} faults", end="")
        print(f"{len(figures.problems):6d} problems")
    counts = {
        "scenes": len(found),
        "kinds": len(KINDS),
        "operations": sum(figures.operations for figures in found),
        "faults": sum(figures.faults for figures in found),
        "problems": sum(len(figures.problems) for figures in found),
        "seconds": round(time.monotonic() - started_s),
    }
    for name, count in counts.items():
        print(f"{name:14s}{count:>10,}")
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(counts, indent=1), "utf-8")
    return bool(counts["problems"])


sys.exit(main())
