"""Summaries: derived, linked, of the least trust, and never above a source for the source's own text."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.events.facts import Ingested, Linked
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in, names, parse

SOURCES = (
    "the billing service deploys on tuesday from the main branch",
    "the billing service is written in rust and owned by the payments team",
    "the billing service keeps its state in postgres in frankfurt",
)

SOURCES_FIRST = parse(
    """
    name = "words"
    stages = [
      { op = "retrieve", channel = "lexical" }, { op = "fuse", channels = ["lexical"] }, { op = "derived_from" },
    ]
    """,
    origin="words",
)


def joined(texts) -> str:
    return " ".join(texts)


@pytest.fixture
def summarised(memory, clock):
    for number, text in enumerate(SOURCES):
        memory.remember(
            text, id=f"source{number}", key="billing", project="shop", importance=0.5 + number / 10
        )
    clock.pass_hours(2)
    return memory, memory.dream(summariser=joined)


def summary_of(report) -> str:
    (phase,) = [one for one in report.phases if one.phase == "summarise"]
    (change,) = phase.changes
    return change.id


def test_a_summary_is_derived_from_its_sources_which_stay(summarised):
    memory, report = summarised
    memo = memory.get(summary_of(report))
    assert memo.content == joined(SOURCES)
    assert (memo.state.kind, memo.state.project, memo.state.importance, memo.state.key) == (
        "summary",
        "shop",
        0.5,
        None,
    )
    view = memory._store.view()
    number = view.documents.ids.find(memo.id)
    edges = view.graph.edges_of(number, view.seq, direction="out")
    assert sorted(view.documents.ids.values[edge.b] for edge in edges) == ["source0", "source1", "source2"]
    assert {edge.kind for edge in edges} == {"derived_from"}
    assert all(memory.get(f"source{n}").visible for n in range(3))


def test_the_trust_of_a_summary_is_the_least_of_its_sources(memory, clock, tell):
    for number, trust in enumerate((1.0, 0.4, 0.7)):
        tell(Ingested(id=f"s{number}", content=SOURCES[number], at=clock(), trust=trust, key="k"))
    clock.pass_hours(2)
    assert memory.get(summary_of(memory.dream(summariser=joined))).state.trust == 0.4


def test_a_group_is_summarised_once_and_a_grown_one_supersedes_the_smaller(summarised, clock):
    memory, first = summarised
    clock.pass_hours(2)
    assert memory.dream(summariser=joined).counts["summarise"] == 0
    memory.remember("the billing service has a new owner", id="source3", key="billing", project="shop")
    clock.pass_hours(2)
    second = memory.dream(summariser=joined)
    assert memory.get(summary_of(first)).state.superseded_by == summary_of(second)
    memory.undream(second.id)
    assert memory.get(summary_of(first)).visible
    assert not memory.get(summary_of(second)).visible


def test_groups_too_small_or_declined_are_left_alone(memory, clock):
    memory.remember(SOURCES[0], key="k")
    memory.remember(SOURCES[1], key="k")
    clock.pass_hours(2)
    assert memory.dream(summariser=joined, phases=["scan"]).counts["summarise"] == 0
    memory.remember(SOURCES[2], key="k")
    assert memory.dream(summariser=lambda _: None, phases=["scan"]).counts["summarise"] == 0


@pytest.mark.parametrize("formula", ["recollect", *(f"{name} of old" for name in names())])
@pytest.mark.parametrize("embedder", ["hash", None])
def test_no_summary_outranks_a_source_for_the_sources_own_text(clock, formula, embedder):
    if formula.endswith(" of old"):  # before the stage, every formula had the rule
        formula = msgspec.structs.replace(built_in(formula.removesuffix(" of old")), order=msgspec.UNSET)
    with Memory.open(":memory:", embedder=embedder, formula="reverie", clock=clock) as memory:
        for number, text in enumerate(SOURCES):
            memory.remember(text, id=f"zz{number}", key="billing", at="20 days ago")
        clock.pass_hours(2)
        derived = summary_of(memory.dream(summariser=lambda texts: joined([*texts, *texts])))
        for session in range(9):
            memory.access([derived], f"s{session}")
        memory.dream()
        for number, text in enumerate(SOURCES):
            hits = [hit.id for hit in memory.recall(text, formula=formula, record=False).hits]
            if derived in hits:
                assert f"zz{number}" in hits[: hits.index(derived)], (formula, hits)


def test_a_summary_may_stand_above_a_source_that_the_question_is_farther_from(summarised):
    memory, report = summarised
    hits = [hit.id for hit in memory.recall(joined(SOURCES), record=False).hits]
    assert hits[0] == summary_of(report)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_any_tangle_of_derivations_ranks_every_candidate_once_and_verifies(pairs):
    with Memory.open(
        ":memory:", embedder=None, formula=SOURCES_FIRST, clock=lambda: 1_763_000_000_000_000
    ) as memory:
        for number in range(6):
            memory.remember("alpha " * (number + 1) + "beta", id=f"m{number}")
        plain = {hit.id for hit in memory.recall("alpha").hits}
        memory._store.append([Linked(a=f"m{a}", b=f"m{b}", kind="derived_from") for a, b in pairs])
        hits = [hit.id for hit in memory.recall("alpha").hits]
        assert len(hits) == len(set(hits)) == len(plain)
        for a, b in pairs:
            if b < a:
                assert hits.index(f"m{b}") < hits.index(f"m{a}")
        assert memory.verify().exact
