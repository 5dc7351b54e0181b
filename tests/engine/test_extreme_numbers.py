"""Numbers that are none, have no end or have thousands of digits are refused with one short line, wherever they come in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.engine.embedding.names import whole_option
from recollect.events.errors import InvalidInput
from recollect.events.facts import Filters
from recollect.interfaces.files.rows import look_up
from recollect.interfaces.mcp.http import parse_address
from recollect.interfaces.mcp.resources import listed
from recollect.interfaces.python.memory import Memory

DIGITS = "9" * 5_000
HUGE = 10**5_000
NOT_FINITE = (math.nan, math.inf, -math.inf)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "s", embedder="hash") as opened:
        opened.remember("tea is green", id="a")
        opened.remember("tea is black", id="b")
        yield opened


@pytest.mark.parametrize("number", NOT_FINITE)
def test_what_is_not_finite_is_refused(memory: Memory, number: float):
    for call in (
        lambda: memory.recall("tea", filters={"min_importance": number}),
        lambda: memory.recall("tea", filters=Filters(min_importance=number)),
        lambda: memory.memories(filters={"min_importance": number}),
        lambda: memory.recall("tea", context={"weights": {"cosine": number}}, formula="omega"),
        lambda: memory.recall("tea", now=number),
        lambda: memory.remember("x", importance=number),
        lambda: memory.link("a", "b", "related", weight=number),
        lambda: memory.dream(settings={"prune": {"strength_max": number}}),
        lambda: memory.dream(max_churn=number),
        lambda: memory.sql("select 1", timeout=number),
    ):
        with pytest.raises(InvalidInput):
            call()


CALLS: tuple[Callable[[Memory], object], ...] = (
    lambda memory: memory.recall("tea", k=HUGE),
    lambda memory: memory.recall("tea", now=HUGE),
    lambda memory: memory.recall("tea", now=DIGITS),
    lambda memory: memory.recall("tea", now=f"{DIGITS} days ago 14:05"),
    lambda memory: memory.recall("tea", basis=HUGE),
    lambda memory: memory.recall("tea", context={"depth": HUGE}),
    lambda memory: memory.recall("tea", filters={"min_importance": HUGE}),
    lambda memory: memory.remember("x", priority=HUGE),
    lambda memory: memory.link("a", "b", "related", weight=HUGE),
    lambda memory: listed(memory, DIGITS),
    lambda _: parse_address(DIGITS),
    lambda _: parse_address(f"localhost:{DIGITS}"),
    lambda _: whole_option("embedder", {"dim": DIGITS}, "dim", 10),
)


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_a_number_of_5000_digits_is_one_short_line(memory: Memory, number: int):
    with pytest.raises(InvalidInput) as refused:
        CALLS[number](memory)
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


def test_a_path_into_a_list_of_an_imported_row_may_be_any_number():
    assert look_up({"rows": ["a"]}, f"rows.{DIGITS}") is None
    assert look_up({"rows": ["a"]}, "rows.0") == "a"
