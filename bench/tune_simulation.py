"""tune with a planted truth: does it find the weight that the simulated user decides by, although what is used is biased?

    python bench/tune_simulation.py [worlds]

A world has 300 memories of four words each, every one with an importance. What a user wants of the memories that match a
question is the one with the largest words + TRUTH · importance + taste, where taste is drawn anew for every question and
memory. The store asks under a formula in which importance counts START; the user looks at rank r with probability 1/r,
and uses what is wanted if it is looked at. So what is used was mostly ranked high already. `tune` sees the log alone.

Printed is the weight that was found, in each world and on average, beside what the same search finds when every use
counts once whatever its rank: the bias that the propensities take away.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple
from unittest import mock

from recollect.engine.tune import Tuned
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import Formula, parse
from recollect.replay.tune import evidence

START, TRUTH, HIGH = 0.1, 1.0, 2.0
TOLERANCE = 0.35
TASTE = 0.25
MEMORIES, QUESTIONS, WORDS, SHOWN = 300, 700, 40, 30

FORMULA = f"""
name = "planted"
order = "score"
stages = [
  {{ op = "retrieve", channel = "lexical", variant = "lucene", top = 100 }},
  {{ op = "normalise", column = "lexical", method = "max", name = "words" }},
  {{ op = "weigh", weights = {{ words = 1.0, importance = {START} }}, free = {{ importance = [0.0, {HIGH}] }} }},
]
"""


class World(NamedTuple):
    """What was learned in one world, and the weight that was found without propensities."""

    tuned: Tuned
    naive: float

    @property
    def found(self) -> float:
        return self.tuned.numbers[0].after


def formula() -> Formula:
    return parse(FORMULA, origin="planted")


def live(memory: Memory, seed: int, *, questions: int = QUESTIONS) -> int:
    """Fill a store and ask; how many answers something was used from."""
    draw = random.Random(seed)
    words = [f"word{n}" for n in range(WORDS)]
    importances = {f"m{n:03}": round(draw.random(), 3) for n in range(MEMORIES)}
    memory.remember_many(
        {"id": id_, "content": " ".join(draw.sample(words, 4)), "importance": importance}
        for id_, importance in importances.items()
    )
    used = 0
    for _ in range(questions):
        answer = memory.recall(" ".join(draw.sample(words, 2)), k=SHOWN, formula=formula(), track=False)
        wanted = [
            hit.factors["words"] + TRUTH * importances[hit.id] + draw.gauss(0.0, TASTE) for hit in answer.hits
        ]
        if not wanted:
            continue
        best = wanted.index(max(wanted))
        if draw.random() < 1.0 / (best + 1):
            memory.access([answer.hits[best].id], recall=answer.id, how="used", durable=False)
            used += 1
    return used


def world(seed: int, folder: Path, *, questions: int = QUESTIONS) -> World:
    """Live in one world and learn from it."""
    with Memory.open(folder / f"world{seed}", embedder=None) as memory:
        live(memory, seed, questions=questions)
        tuned = memory.tune(formula())
        with mock.patch.object(evidence, "WEIGHT_MAX", 1.0):
            naive = memory.tune(formula()).numbers[0].after
    return World(tuned, naive)


def main(arguments: Sequence[str]) -> None:
    count = int(arguments[0]) if arguments else 5
    with tempfile.TemporaryDirectory() as folder:
        worlds = [world(seed, Path(folder)) for seed in range(1, count + 1)]
    print(f"importance counts {START} in the formula that asked, {TRUTH} for the user")
    for seed, one in enumerate(worlds, 1):
        print(
            f"world {seed}: found {one.found:.3f}, without propensities {one.naive:.3f}; {one.tuned.sentence}"
        )
    error, naive = (
        fmean(abs(x - TRUTH) for x in found)
        for found in zip(*((w.found, w.naive) for w in worlds), strict=True)
    )
    mean, biased = fmean(one.found for one in worlds), fmean(one.naive for one in worlds)
    print(f"on average found {mean:.3f} with propensities, {biased:.3f} without")
    print(f"mean error {error:.3f} with propensities, {naive:.3f} without; allowed {TOLERANCE}")


if __name__ == "__main__":
    main(sys.argv[1:])
