"""How long the way is: the files, functions and levels of calls that remember, recall and verify pass through.

Counted with `sys.setprofile` over the product's files alone, with the hash embedder and 50 memories:

    python -m bench.hops            # prints a table
    python -m bench.hops recall     # also the files of one job, deepest first
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import recollect
from recollect import Memory

MEMORIES = 50
RECALLS = 5
_INLINE = (
    "<listcomp>",
    "<setcomp>",
    "<dictcomp>",
    "<genexpr>",
    "<module>",
)  # written where they run: no calls
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
        if not code.co_filename.startswith(_PRODUCT) or code.co_name in _INLINE:
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


def jobs(memory: Memory) -> dict[str, Hops]:
    """The three jobs on one store; each was done once before, so that imports do not count."""
    memory.remember_many(
        [f"note {n} about tea, coffee or the weather of day {n % 7}" for n in range(MEMORIES)]
    )
    questions = ["which tea", "coffee of day 3", "weather", "note 12", "day 6"][:RECALLS]
    memory.recall("the weather of day 2")
    memory.verify()
    recall = hops(lambda: memory.recall("which tea on day 4"))
    for question in questions:
        memory.recall(question)
    verify = hops(memory.verify)
    remember = hops(lambda: memory.remember("one more note about tea"))
    return {"remember": remember, "recall": recall, "verify": verify}


def main(arguments: list[str]) -> None:
    with Memory.open(":memory:", embedder="hash") as memory:
        counted = jobs(memory)
    print(f"{'job':<10} {'files':>6} {'functions':>10} {'depth':>6}")
    for name, found in counted.items():
        print(f"{name:<10} {len(found.files):>6} {found.functions:>10} {found.depth:>6}")
    for name in arguments:
        print(f"\n{name}: {' > '.join(counted[name].deepest)}")
        for file, level in sorted(counted[name].levels.items(), key=lambda item: -item[1]):
            print(f"{level:>4}  {file}: {', '.join(sorted(counted[name].files[file]))}")


if __name__ == "__main__":
    main(sys.argv[1:])
