"""The formula in force is the store's: whoever adopts it, every open process ranks with it from then on.

A process that was opened with a formula of its own keeps to it, and never undoes what others adopt.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.store import system_clock
from recollect.events.facts import FormulaAdopted
from recollect.events.log import Clock
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]

ADOPTER = """
import sys
from recollect.interfaces.python.memory import Memory
with Memory.open(sys.argv[1], embedder="hash") as memory:
    memory.adopt(sys.argv[2])
"""


def adopted_elsewhere(folder: Path, formula: str) -> None:
    """Another process puts a formula in force, and ends."""
    subprocess.run([sys.executable, "-c", ADOPTER, folder, formula], check=True)


@pytest.fixture
def clock() -> Clock:
    """The real one: the other process has no other."""
    return system_clock


def ranked_by(memory: Memory, **options: object) -> str:
    """The name of the formula that a recorded question is ranked with."""
    return memory.recall("moon", **options).formula.partition("@")[0]


def adoptions(memory: Memory) -> list[str]:
    """The formulas that came into force, in order."""
    facts = (recorded.fact for recorded in memory.store.log.read())
    return [fact.name for fact in facts if isinstance(fact, FormulaAdopted) and fact.in_force]


def test_a_process_that_was_open_before_ranks_with_what_another_adopts(open_memory: Open, tmp_path: Path):
    mine = open_memory()
    mine.remember("the moon", id="moon")
    assert ranked_by(mine) == "recollect"
    adopted_elsewhere(tmp_path / "store", "reverie")
    assert ranked_by(mine) == "reverie"
    assert mine.status().formula.startswith("reverie@")
    mine.adopt("engram")
    assert ranked_by(mine) == "engram"
    adopted_elsewhere(tmp_path / "store", "mnemosyne")
    assert ranked_by(mine) == "mnemosyne" == ranked_by(open_memory())
    assert adoptions(mine) == ["recollect", "reverie", "engram", "mnemosyne"]
    assert mine.verify().verdict == "exact"


def test_a_formula_of_ones_own_ranks_ones_own_recalls_and_undoes_no_later_adoption(
    open_memory: Open, tmp_path: Path
):
    mine = open_memory(formula="omega")
    mine.remember("the moon", id="moon")
    assert ranked_by(mine) == "omega"
    adopted_elsewhere(tmp_path / "store", "reverie")
    assert ranked_by(mine) == "omega"
    assert ranked_by(open_memory()) == "reverie"
    assert adoptions(mine) == ["omega", "reverie"]


def test_what_was_adopted_between_opening_and_the_first_recall_stays_in_force(
    open_memory: Open, tmp_path: Path
):
    mine = open_memory(formula="omega")
    mine.remember("the moon", id="moon")
    adopted_elsewhere(tmp_path / "store", "reverie")
    assert ranked_by(mine) == "omega"
    assert adoptions(mine) == ["reverie"]


def test_a_formula_for_one_question_never_comes_into_force(open_memory: Open):
    mine = open_memory()
    mine.remember("the moon", id="moon")
    assert ranked_by(mine, formula="reverie") == "reverie"
    assert adoptions(mine) == []


@pytest.mark.parametrize(
    ("own", "then"), [(None, "reverie"), ("omega", "omega")], ids=["follows", "has its own"]
)
def test_what_is_adopted_while_a_first_recall_is_recorded_is_not_undone(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch, own: str | None, then: str
):
    """The recall would bring its formula into force, and another process does so right before its append."""
    mine, other = open_memory(formula=own), open_memory()
    mine.remember("the moon", id="moon")
    append, left = mine.store.append, ["reverie"]

    def overtaken(*args: object, **options: object) -> list[int]:
        if left:
            other.adopt(left.pop())
        return append(*args, **options)

    monkeypatch.setattr(mine.store, "append", overtaken)
    assert ranked_by(mine) == then
    assert adoptions(mine) == ["reverie"]
    assert mine.verify().verdict == "exact"
