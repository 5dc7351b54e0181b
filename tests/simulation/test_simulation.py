"""Several processes, crashes, power cuts and failing disks on one store: nothing is lost, no view and no ranking is wrong.

`make torture` runs ten thousand seeds; here are the first few hundred, so that a run says the same of the same commit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.runs import run

ROOT = Path(__file__).parent.parent.parent
BLOCKS, SEEDS = 6, 40


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_view_is_a_fold_of_the_log_whatever_happens_to_the_processes(block: int) -> None:
    """In an interpreter of its own, whose sets have the same order every time."""
    seeds = ["--first", str(block * SEEDS), "--seeds", str(SEEDS), "--processes", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulation", *seeds],
        cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]


def test_a_seed_repeats_its_run_step_by_step() -> None:
    for seed in (3, 11, 17):
        assert run(seed) == run(seed)


def test_the_seeds_bring_every_kind_of_accident() -> None:
    """A seam that no longer catches anything would make every seed pass."""
    counts: dict[str, int] = {}
    for seed in range(90):
        for name, count in run(seed).counts.items():
            counts[name] = counts.get(name, 0) + count
    for name in (
        "crashes",
        "power cuts",
        "faults",
        "erasures",
        "dreams",
        "reembeddings",
        "recalls",
        "shards",
    ):
        assert counts[name] > 5, name
