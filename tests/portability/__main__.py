"""Replays the golden stores under every condition that can be had here, and writes the table of docs/exactness.md.

    python -m tests.portability [--write]

A line per condition: what it is, how many recalls were ranked again there, and how many came out otherwise. Beside the
stores it digests a million values each of our exp and log. What cannot be had here is said, and is no failure. So that a
setting which does nothing is not taken for a proof, each line says which of the machine's own functions moved.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

from tests.portability import environments
from tests.portability.environments import ROOT, Unavailable

PAGE = ROOT / "docs" / "exactness.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
REPLAY = str(ROOT / "tests" / "golden" / "replay_stores.py")
MATH = str(ROOT / "tests" / "portability" / "math_digest.py")
WITHOUT_FMA = "glibc.cpu.hwcaps=-FMA,-AVX2,-AVX2_Usable,-FMA_Usable"


class Condition(NamedTuple):
    """`python` gives the command that runs a program there."""

    name: str
    python: Callable[[], list[str]]
    settings: dict[str, str]
    with_shards: bool = False


class Line(NamedTuple):
    condition: str
    trials: str
    differences: str
    moved: str
    where: str


def here(*options: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, *options]


def other(version: str) -> Callable[[], list[str]]:
    return lambda: [str(environments.python(version))]


def libcxx() -> list[str]:
    return ["/usr/bin/env", f"PYTHONPATH={environments.libcxx()}", sys.executable]


def conditions() -> list[Condition]:
    found = [Condition("as it is here", here(), {})]
    found += [
        Condition(f"Python {version}", other(version), {}) for version in ("3.11", "3.12", "3.13", "3.14")
    ]
    found += [
        Condition("glibc without FMA and AVX2", here(), {"GLIBC_TUNABLES": WITHOUT_FMA}),
        *(
            Condition(f"OpenBLAS for {core}", here(), {"OPENBLAS_CORETYPE": core})
            for core in ("Prescott", "Nehalem", "Sandybridge", "Haswell", "SkylakeX")
        ),
        Condition(
            "numpy without AVX-512", here("-W", "ignore"), {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
        ),
        Condition(
            "numpy without AVX2 too", here("-W", "ignore"),
            {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
        ),
        *(Condition(f"PYTHONHASHSEED={seed}", here(), {"PYTHONHASHSEED": seed}) for seed in ("0", "1", "2026")),
        Condition("python -O", here("-O"), {}),
        Condition("another time zone, locale and encoding", here(), {
            "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONUTF8": "0"}),
        Condition("arm64 (qemu), shards built there", environments.arm64, {}),
        Condition("hnswlib on libc++, shards brought", libcxx, {}, with_shards=True),
        Condition("hnswlib on libc++, shards missing", libcxx, {}),
    ]  # fmt: skip
    return found


def tried(condition: Condition, expected: dict[str, object]) -> Line:
    """Run both programs there; the first condition fills in what the others are compared with."""
    try:
        python = condition.python()
    except Unavailable as error:
        return Line(condition.name, "not tried", "", "", str(error))
    settings = os.environ | condition.settings
    shards = ["--with-shards"] if condition.with_shards else []
    settings.setdefault("PYTHONHASHSEED", "7")
    found = _json([*python, REPLAY, *shards], settings)
    functions = _json([*python, MATH], settings)
    digests, own = functions["ours"], functions["own"]
    stores, machine = found["stores"], found["here"]
    different = sum(len(store["different"]) for store in stores)
    missing = sum(len(store["not_here"]) for store in stores)
    checked = sum(store["checked"] for store in stores) - missing
    rankings = {store["store"]: store["rankings"] for store in stores if not store["not_here"]}
    expected.setdefault("rankings", rankings)
    expected.setdefault("math", digests)
    moved = [name for name, digest in own.items() if digest != expected.setdefault("own", own)[name]]
    unlike = [name for name, digest in rankings.items() if digest != expected["rankings"][name]]
    unlike += [name for name, digest in digests.items() if digest != expected["math"][name]]
    where = (
        f"Python {machine['python']}, {machine['machine']}, {machine['libc'] or 'another libc'}, numpy {machine['numpy']}, "
        f"Unicode {machine['unicode']}, {machine['generator']}"
    )
    trials = f"{checked} recalls" + (f", {missing} not verifiable here" if missing else "")
    differences = f"{different + len(unlike)} {' '.join(unlike)}".strip()
    return Line(condition.name, f"{trials}, 2,000,000 values", differences, ", ".join(moved), where)


def _json(command: list[str], settings: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    decoded: dict[str, object] = json.loads(done.stdout)
    return decoded


def table(lines: list[Line]) -> str:
    rows = [
        "| condition | trials | differences | of the machine's own, other bits | where |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*rows, *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.portability", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/exactness.md")
    given = parser.parse_args()
    expected: dict[str, object] = {}
    lines = []
    for condition in conditions():
        lines.append(tried(condition, expected))
        print(
            f"{lines[-1].condition:45} {lines[-1].trials:60} {lines[-1].differences:3} {lines[-1].moved}",
            flush=True,
        )
    print(table(lines))
    if given.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}{table(lines)}{END}{rest.partition(END)[2]}", "utf-8")
    return int(any(line.differences not in ("0", "") for line in lines))


if __name__ == "__main__":
    raise SystemExit(main())
