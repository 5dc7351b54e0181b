"""bisect, ranks and why_changed take recall's arguments: each counts, and a misspelt one is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from travel_world import DAY, QUERY, START, Hours

from recollect.events.errors import InvalidInput
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory

ASKED: dict[str, Callable[..., object]] = {
    "bisect": lambda memory, **asking: memory.bisect(QUERY, "a", **asking),
    "ranks": lambda memory, **asking: memory.ranks("a", QUERY, **asking),
    "why_changed": lambda memory, **asking: memory.why_changed(QUERY, "a", 2, **asking),
}
every_way = pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hash", clock=Hours()) as opened:
        opened.remember("auth session a", id="a")
        opened.remember("auth session b", id="b")
        yield opened


@every_way
def test_an_unknown_argument_is_refused_and_the_known_ones_are_named(
    memory: Memory, ask: Callable[..., object]
):
    with pytest.raises(
        InvalidInput, match=r"unknown argument 'filtres'; there are k, formula, .*filters, now"
    ):
        ask(memory, filtres={"kinds": ["decision"]})
    ask(memory, k=3, session="s", context={}, filters={}, now="now", track=False, record=False, wait=True)


def test_a_clock_given_to_why_changed_is_that_of_both_moments(memory: Memory):
    now = START + 40 * DAY
    change = memory.why_changed(QUERY, "a", since=2, now=now / 10**6)
    assert (change.since.now, change.until.now) == (now, now)
    assert next(part for part in change.parts if part.cause == "clock").score == 0.0
    assert memory.why_changed(QUERY, "a", since=2).until.now != now


def test_a_clock_given_to_ranks_is_that_of_every_point(memory: Memory):
    memory.remember("auth session for a while", id="brief", expires_at=(START + 30 * DAY) / 10**6)
    assert memory.ranks("brief", QUERY).points[-1].rank is not None
    expired = memory.ranks("brief", QUERY, now=(START + 40 * DAY) / 10**6)
    assert [point.rank for point in expired.points] == [None] * len(expired.points)


def test_before_a_formula_was_adopted_the_default_was_in_force_whatever_the_memory_was_opened_with(
    tmp_path: Path,
):
    with Memory.open(tmp_path, embedder="hash", formula="mnemosyne", clock=Hours()) as memory:
        memory.remember("auth session a", id="a")
        before = memory.status().head
        memory.recall(QUERY)  # adopts the formula
        change = memory.why_changed(QUERY, "a", since=before, until=memory.status().head)
        assert change.since.formula == memory.at(before).recall(QUERY).formula
        assert change.since.formula.startswith("recollect@")
        assert change.until.formula.startswith("mnemosyne@")
        formula = next(part for part in change.parts if part.cause == "formula")
        assert formula.events == (before + 1,)
        assert formula.score != 0.0
        assert memory.ranks("a", QUERY, until=before).points[-1].score == change.since.score


def test_the_command_line_says_what_was_erased(tmp_path: Path):
    with Memory.open(tmp_path / "store", embedder="hash", clock=Hours()) as memory:
        memory.remember("auth session a", id="a")
        memory.remember("auth session b", id="b")
        erased = memory.erase("b").at

    def run(*arguments: str) -> tuple[int, str]:
        environment = {"RECOLLECT_STORE": str(tmp_path / "store"), "RECOLLECT_EMBEDDER": "hash"}
        result = CliRunner().invoke(main, list(arguments), env=environment)
        return result.exit_code, result.output

    for command in (
        ("bisect", QUERY),
        ("why-changed", "--since", "@3", QUERY),
        ("history", "--ranks", QUERY),
    ):
        status, said = run(*command, "b")
        assert (status, f"'b' was erased at @{erased}" in said) == (2, True)
        assert f"redacted  a memory that could have ranked was erased at @{erased}" in run(*command, "a")[1]
