"""How long the way is: the files, functions and levels of calls that remember, recall and verify pass through.

Counted with `sys.setprofile` over the product's files alone, with the hash embedder and 50 memories in a store on
disk. Every Python frame counts, comprehensions too, and a recall is the first of its process; in brackets the same
for a later one:

    python -m bench.hops            # prints a table
    python -m bench.hops recall     # also the files of one job, deepest first
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import recollect
from recollect import Memory

MEMORIES = 50
RECALLS = 5
_PRODUCT = str(Path(recollect.__file__).parent)


class Hops(NamedTuple):
    """What one job passed through: per file its functions and the deepest level that one of them was called at."""

    files: dict[str, set[str]]
    levels: dict[str, int]
    deepest: list[str]

    @property
    def functions(self) -> int:
        return sum(len(names) for names in self.files.values())

    @property
    def depth(self) -> int:
        return max(self.levels.values(), default=0)


def hops(job: Callable[[], object]) -> Hops:
    """Run a job and count; only functions of the product make a level."""
    found = Hops({}, {}, [])
    stack: list[CodeType] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(_PRODUCT):
            return
        if event == "call":
            stack.append(code)
            name = code.co_filename.removeprefix(_PRODUCT).lstrip("/")
            found.files.setdefault(name, set()).add(code.co_qualname)
            if len(stack) > found.depth:
                found.deepest[:] = [one.co_qualname for one in stack]
            found.levels[name] = max(found.levels.get(name, 0), len(stack))
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(count)
    try:
        job()
    finally:
        sys.setprofile(None)
    return found


def jobs(memory: Memory) -> dict[str, tuple[Hops, Hops]]:
    """The three jobs on one store, each the first time and once more."""
    memory.remember_many(
        [f"note {n} about tea, coffee or the weather of day {n % 7}" for n in range(MEMORIES)]
    )
    questions = ["which tea", "coffee of day 3", "weather", "note 12", "day 6"][:RECALLS]
    first = hops(lambda: memory.recall("which tea on day 4"))
    recall = first, hops(lambda: memory.recall("which tea on day 4"))
    for question in questions[2:]:
        memory.recall(question)
    verify = hops(memory.verify), hops(memory.verify)
    remember = tuple(hops(lambda n=n: memory.remember(f"note {n} more about tea")) for n in range(2))
    return {"remember": (remember[0], remember[1]), "recall": recall, "verify": verify}


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory.open(folder, embedder="hash") as memory:
        counted = jobs(memory)
    print(f"{'job':<10} {'files':>12} {'functions':>12} {'depth':>12}")
    for name, (first, later) in counted.items():
        pairs = ((len(one.files), one.functions, one.depth) for one in (first, later))
        print(f"{name:<10}", *(f"{f'{a} ({b})':>12}" for a, b in zip(*pairs, strict=True)))
    for name in arguments:
        found = counted[name][0]
        print(f"\n{name}: {' > '.join(found.deepest)}")
        for file, level in sorted(found.levels.items(), key=lambda item: -item[1]):
            print(f"{level:>4}  {file}: {', '.join(sorted(found.files[file]))}")


if __name__ == "__main__":
    main(sys.argv[1:])
