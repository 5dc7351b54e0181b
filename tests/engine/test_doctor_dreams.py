"""doctor names a dream that was dreamt twice in place of one, and says what takes it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.engine.doctor import Problem, doctor
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]
HOUR = 3_600_000_000
DOWNSCALED = 0.95  # what one dream leaves of a strength of 1


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def overtaken(memory: Memory, by: Callable[[], object], **options: object) -> str:
    """A dream of a program that read its clock, and wrote the dream behind another one that was written since."""
    began = memory.store.clock()
    by()
    return memory.dream(now=began / 1_000_000, **options).id


@pytest.fixture
def pair(open_memory: Open) -> tuple[str, str]:
    """Two processes were due at once: the first dream, and the one that was written in its place again."""
    memory, other = open_memory(), open_memory()
    memory.remember("tea is green", id="tea")
    first: list[str] = []
    second = overtaken(memory, lambda: first.append(other.dream().id))
    assert strengths(memory) == {DOWNSCALED * DOWNSCALED}
    return first[0], second


def strengths(memory: Memory) -> set[float]:
    return {round(memo.state.strength, 12) for memo in memory.memories()}


def dreams_in(store: Path) -> list[Problem]:
    found = doctor(store)
    assert found.healthy is not bool(found.problems)
    assert {problem.severity for problem in found.problems} <= {"dreams"}
    return list(found.problems)


def test_a_dream_that_two_processes_dreamt_is_named_and_the_command_that_it_names_heals_the_store(
    pair: tuple[str, str], store: Path, open_memory: Open
):
    first, second = pair
    (problem,) = dreams_in(store)
    assert problem.where == f"@{second[1:]}"
    assert f"{second} began before {first} was written" in problem.what
    assert doctor(store, fix=True).problems == (problem,)  # taking a dream back is for a person to decide
    command = problem.remedy.split("`")[1].split()
    assert command == ["recollect", "undream", second]
    done = CliRunner().invoke(main, [*command[1:], "--store", str(store), "--embedder", "hash"])
    assert done.exit_code == 0, done.output
    assert dreams_in(store) == []
    assert strengths(open_memory()) == {DOWNSCALED}


def test_a_pair_of_which_the_first_was_taken_back_is_one_dream(
    pair: tuple[str, str], store: Path, open_memory: Open
):
    open_memory().undream(pair[0])
    assert dreams_in(store) == []


def test_of_three_dreams_in_place_of_one_two_are_named_and_taken_back(open_memory: Open, store: Path):
    first, second, third = (open_memory() for _ in range(3))
    first.remember("tea is green", id="tea")
    overtaken(third, lambda: overtaken(second, first.dream))
    dreams = [one.id for one in third.store.projections.adoptions.dreams]
    assert [problem.where for problem in dreams_in(store)] == [f"@{one[1:]}" for one in dreams[1:]]
    for doubled in dreams[1:]:
        third.undream(doubled)
    assert dreams_in(store) == []
    assert strengths(third) == {DOWNSCALED}


def test_dreams_that_were_asked_for_one_after_the_other_are_left_alone(open_memory: Open, store: Path):
    memory = open_memory()
    memory.remember("tea is green", id="tea")
    memory.dream()
    memory.dream()
    assert dreams_in(store) == []


def test_a_dream_that_was_asked_for_with_a_clock_of_its_own_is_left_alone(
    open_memory: Open, store: Path, clock: Callable[[], int]
):
    memory = open_memory()
    memory.remember("tea is green", id="tea")
    memory.dream()
    memory.dream(now=(clock() - 2 * HOUR) / 1_000_000)
    assert dreams_in(store) == []


def test_dreams_of_a_clock_that_stands_still_are_left_alone(open_memory: Open, store: Path):
    memory = open_memory(clock=lambda: 1_763_000_000_000_000)
    memory.remember("tea is green", id="tea")
    memory.dream()
    memory.dream()
    assert dreams_in(store) == []


def test_a_dream_that_changed_no_strength_is_no_second_one(open_memory: Open, store: Path):
    memory, other = open_memory(), open_memory()
    memory.remember("tea is green", id="tea")
    overtaken(memory, other.dream, phases=["scan", "cluster"])
    assert dreams_in(store) == []
