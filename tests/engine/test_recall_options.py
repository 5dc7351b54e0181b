"""recall's arguments are stated once, and mean the same wherever they are given."""

from __future__ import annotations

import inspect

import pytest

from recollect.engine.past import PastView
from recollect.engine.recall_options import RecallArguments, RecallOptions
from recollect.events.facts import Filters
from recollect.interfaces.mcp.tool_arguments import Recall
from recollect.interfaces.python.memory import Memory
from recollect.web.forms import Ask, AskAndRecord


@pytest.mark.parametrize("kind", [Recall, Ask, AskAndRecord])
def test_every_interface_takes_the_arguments_of_recall(kind: type):
    assert set(RecallArguments.__struct_fields__) <= set(kind.__struct_fields__)


def test_who_asks_is_no_filter_and_all_other_arguments_reach_recall():
    given = RecallArguments(
        k=3, now="2026-11-01", formula="reverie", session="s", project="web", tags=("a",), kinds=("note",), since="2026-01-01",
        until="2026-02-01", valid_at="2026-03-01", basis="@5",
    )  # fmt: skip
    options = given.options()
    assert options == {
        "k": 3,
        "formula": "reverie",
        "session": "s",
        "now": "2026-11-01",
        "basis": "@5",
        "filters": given.filters,
    }
    assert set(given.filters) == {"project", "tags", "kinds", "since", "until", "valid_at"}
    assert set(given.filters) <= set(Filters.__struct_fields__)
    assert set(options) <= set(RecallOptions.__annotations__)


def test_the_past_is_asked_with_the_arguments_of_now():
    assert inspect.signature(PastView.recall) == inspect.signature(Memory.recall)


def test_a_memory_of_another_session_answers(open_memory):
    memory = open_memory()
    memory.remember("tea is green", id="a", session="monday")
    options = RecallArguments(session="tuesday").options()
    assert [hit.id for hit in memory.recall("tea", **options).hits] == ["a"]
