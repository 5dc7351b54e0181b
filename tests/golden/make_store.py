"""Writes the next golden store: a small log with recalls under every built-in formula, kept for ever.

    python tests/golden/make_store.py tests/golden/stores/v2

Run once per released format or formula change; an existing store is never written again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from recollect.events.facts import Linked, Rated, Superseded
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import names

WORDS = [
    "auth",
    "session",
    "postgres",
    "redis",
    "deploy",
    "tuesday",
    "billing",
    "stripe",
    "cookie",
    "login",
    "backup",
    "restore",
]
START = 1_767_225_600.0
DAY = 86_400.0


def main(target: Path) -> None:
    if target.exists():
        raise SystemExit(f"{target} exists; golden stores are never written again")
    with tempfile.TemporaryDirectory() as folder:
        ticks = iter(range(10**9))
        clock = lambda: int((START + 31 * DAY) * 1e6) + next(ticks) * 1_000_000  # noqa: E731
        with Memory.open(folder, embedder="hash", clock=clock) as memory:
            live(memory)
        shutil.copytree(Path(folder) / "log", target, ignore=shutil.ignore_patterns("writer.lock"))


def live(memory: Memory) -> None:
    for n in range(60):
        text = " ".join(WORDS[(n * step + step) % len(WORDS)] for step in (1, 3, 5, 7)) + f" note {n}"
        memory.remember(
            text, id=f"m{n:02d}", at=START + (20 + n / 6) * DAY, session=f"s{n % 7}", importance=(n % 11) / 10,
            kind=("note", "decision", "user_preference", "bug")[n % 4], tags=[WORDS[n % 5]],
        )  # fmt: skip
    memory._append(
        [Linked(a="m01", b="m02", kind="supports"), Linked(a="m02", b="m40", kind="extends", weight=0.7)]
    )
    memory._append([Superseded(old="m05", new="m06"), Rated(id="m07", verdict="helpful", at=0)])
    for round_, formula in enumerate((*names(), *names())):
        for n in range(4):
            question = f"{WORDS[(n + round_) % 12]} and {WORDS[(n * 5 + round_) % 12]}"
            memory.recall(question, k=6, formula=formula, session=f"s{n}", now=START + 45 * DAY)
        memory.access(f"m{10 + round_}", session=f"s{round_ % 3}")
        memory.revise(f"m{20 + round_}", f"revised {WORDS[round_ % 12]} text {round_}")
        memory.forget(f"m{40 + round_}", "golden")
        if round_ in (3, 9):
            memory.dream()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
