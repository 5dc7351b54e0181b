"""Scenes run with faults, and their figures: shared by the tests and `python -m tests.faults`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
KINDS = ("EIO", "ENOSPC", "EROFS", "short", "kill", "full")
SCENES = (
    "remember", "recall", "erase", "dream", "reembed", "export", "export markdown", "import", "watch", "doctor",
    "seal", "checkpoint",
)  # fmt: skip


@dataclass
class Figures:
    scene: str
    operations: int
    faults: int
    problems: list[str]


def compiled(folder: Path) -> Path:
    library = folder / "faults.so"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "faults.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


def run(scene: str, library: Path, *, stride: int, kinds: tuple[str, ...] = KINDS) -> Figures:
    """One scene with a fault at every `stride`-th file operation, on copies of one store, for each kind."""
    shared = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="recollect-faults-", dir=shared if shared.is_dir() else None))
    env = {
        **os.environ, "LD_PRELOAD": str(library), "HOME": str(work), "XDG_RUNTIME_DIR": str(work),
        "RECOLLECT_NO_DAEMON": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / "driver.py"), str(work), scene, str(stride), *kinds],
            capture_output=True, text=True, check=False, env=env,
        )  # fmt: skip
    finally:
        shutil.rmtree(work, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    last = lines.pop()
    return Figures(scene, last["operations"], last["faults"], [line["problem"] for line in lines])
