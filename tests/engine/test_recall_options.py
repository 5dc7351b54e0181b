"""recall's arguments are stated once, and mean the same wherever they are given."""

from __future__ import annotations

import inspect

import pytest

from recollect.engine.context_arguments import ContextArguments, context_of
from recollect.engine.past import PastView
from recollect.engine.recall_options import RecallArguments, RecallOptions
from recollect.events.errors import InvalidInput
from recollect.events.facts import Context, Filters
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


def test_a_context_of_texts_is_the_context_of_python():
    pairs = ("profile=decision", "weights.semantic=0.7", "tags=auth, login", "depth=2", "since=2026-01-01")
    options = RecallArguments(context=context_of(pairs)).options()
    assert options["context"] == {
        "profile": "decision", "weights": {"semantic": 0.7}, "tags": ("auth", "login"), "depth": 2, "since": "2026-01-01",
    }  # fmt: skip
    assert set(ContextArguments.__struct_fields__) == set(Context.__struct_fields__)
    assert RecallArguments(context=context_of(())).options() == RecallArguments().options()


@pytest.mark.parametrize("pair", ["profil=x", "profile", "profile.a=x", "weights=3", "depth=deep", "depth=0"])
def test_a_context_that_is_none_is_refused(pair: str):
    with pytest.raises(InvalidInput, match="context"):
        context_of([pair])


def test_a_profile_or_surface_that_the_formula_does_not_know_is_an_error(open_memory):
    memory = open_memory()
    memory.remember("tea is green", id="a")
    for context in ({"profile": "decison"}, {"surface": "PLANING"}):
        with pytest.raises(InvalidInput, match="did you mean"):
            memory.recall("tea", formula="omega", context=context)
        with pytest.raises(InvalidInput, match=r"has no (profile|surface)s"):
            memory.recall("tea", formula="reverie", context=context)
    head = memory.status().head
    assert (
        memory.recall("tea", formula="omega", context={"profile": "Decision", "surface": "planning"}).basis
        == head
    )
