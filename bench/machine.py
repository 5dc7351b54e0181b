"""The machine, the versions and the commit that a measurement belongs to."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = ("numpy", "msgspec", "hnswlib", "duckdb", "rank-bm25")
PEERS = ("apsw", "sqlite-vec", "lancedb", "chromadb", "memvara", "eventsourcing", "pysqlite3-binary")
FSYNCS = 200


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def commit() -> str:
    """The short name of the commit, with a + when files were changed since."""
    name = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return f"{name}+" if changed else name


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def describe() -> dict[str, object]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "libraries": {name: found for name in (*OURS, *PEERS) if (found := version(name))},
    }


def additions_ms() -> float:
    """How long Python takes for a million additions: how fast this machine is today, the middle of five."""

    def once() -> float:
        begun, total = time.perf_counter(), 0
        for number in range(1_000_000):
            total += number
        return (time.perf_counter() - begun) * 1e3

    return statistics.median(once() for _ in range(5))


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def fsyncs_per_s(folder: Path) -> float:
    """How often this disk can be told to keep 512 bytes for good: the bound of durable single appends."""
    path = folder / "fsync"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    begun = time.perf_counter()
    for _ in range(FSYNCS):
        os.write(descriptor, b"x" * 512)
        os.fdatasync(descriptor)
    spent = time.perf_counter() - begun
    os.close(descriptor)
    path.unlink()
    return FSYNCS / spent


def resident_bytes() -> dict[str, int]:
    """What this process holds in memory: all of it, and what is its own rather than a mapped file's."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    sizes = {
        line.split(":")[0]: int(line.split()[1]) * 1024
        for line in lines
        if line.startswith(("VmRSS", "RssAnon"))
    }
    return {"all": sizes["VmRSS"], "own": sizes["RssAnon"]}
