"""Before the first dream the lifecycle factors change nothing, whatever was accessed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in
from recollect.query.stages.scoring import Multiply

LIFECYCLE = {"strength", "depth_weight", "session_spread", "stability"}


def without_lifecycle():
    formula = built_in("reverie")
    stages = tuple(
        msgspec.structs.replace(stage, enabled=False)
        if isinstance(stage, Multiply) and stage.column in LIFECYCLE
        else stage
        for stage in formula.stages
    )
    assert sum(not stage.enabled for stage in stages) == 4
    return msgspec.structs.replace(formula, stages=stages, name="reverie-live")


def ranking(memory: Memory, formula) -> list[tuple[str, float]]:
    answer = memory.recall("service deploy report", formula=formula, record=False, now="2030-01-01")
    return [(hit.id, hit.score) for hit in answer.hits]


words = st.lists(st.sampled_from(["service", "deploy", "report", "cat", "door"]), min_size=1, max_size=6)
accesses = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.sampled_from(["used", "returned"])), max_size=12
)


@settings(max_examples=40)
@given(st.lists(words, min_size=5, max_size=8), accesses)
def test_a_store_that_never_dreamt_ranks_the_same_with_and_without_the_lifecycle(texts, reads):
    with Memory.open(":memory:", embedder="hash", clock=lambda: 1_763_000_000_000_000) as memory:
        for number, text in enumerate(texts):
            memory.remember(" ".join(text), id=f"m{number}", session="s0")
        for number, session, how in reads:
            memory.access([f"m{number}"], f"s{session}", how)
        assert ranking(memory, "reverie") == ranking(memory, without_lifecycle())


def test_after_a_dream_the_lifecycle_factors_count_and_undoing_it_makes_them_neutral_again(memory):
    memory.remember("service deploy", id="a", session="s0")
    memory.remember("service deploy", id="b", session="s0")
    memory.access(["b"], "s1")
    neutral = ranking(memory, "reverie")
    report = memory.dream()
    assert ranking(memory, "reverie") != ranking(memory, without_lifecycle())
    memory.undream(report.id)
    assert ranking(memory, "reverie") == neutral == ranking(memory, without_lifecycle())


@pytest.mark.parametrize("phase", ["scan", "prune", "cluster"])
def test_a_dream_that_changes_no_factor_leaves_scores_as_they_were(memory, phase):
    memory.remember("service deploy", id="a")
    before = ranking(memory, "reverie")
    memory.dream(phases=[phase])
    assert ranking(memory, "reverie") == before
