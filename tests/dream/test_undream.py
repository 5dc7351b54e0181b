"""Taking a dream back: everything it wrote returns, and what changed since is named and stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.events.errors import InvalidInput
from recollect.events.facts import Linked, Rated
from recollect.interfaces.python.memory import Memory

KINDS = ("note", "session", "decision", "bug", "reference")
TEXTS = (
    "the api listens on port 80",
    "the api listens on port 81",
    "cats sleep all day",
    "deploy on tuesday",
)


class Clock:
    def __init__(self) -> None:
        self.now = 1_763_000_000_000_000

    def __call__(self) -> int:
        self.now += 1_000
        return self.now


remembered = st.builds(
    dict,
    kind=st.sampled_from(KINDS),
    content=st.sampled_from(TEXTS),
    key=st.sampled_from([None, None, "k"]),
    session=st.sampled_from([None, "s1", "s2"]),
    importance_tag=st.sampled_from([None, None, "Explicit"]),
)
steps = st.one_of(
    st.tuples(st.just("remember"), remembered),
    st.tuples(st.just("access"), st.integers(0, 9), st.sampled_from(["s1", "s2", "s3", "s4", "s5"])),
    st.tuples(st.just("rate"), st.integers(0, 9)),
    st.tuples(st.just("link"), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.sampled_from([0.1, 5.0, 40.0, 100.0])),
    st.tuples(st.just("forget"), st.integers(0, 9)),
    st.tuples(st.just("dream")),
)


def act(memory: Memory, clock: Clock, step: tuple) -> None:
    """One step; what names a memory that is not there does nothing."""
    living = [memo.id for memo in memory.memories()]
    match step:
        case ("remember", fields):
            memory.remember(**fields)
        case ("wait", days):
            clock.now += round(days * 86_400_000_000)
        case ("dream",):
            memory.dream()
        case (_, number, *_) if number >= len(living):
            pass
        case ("access", number, session):
            memory.access([living[number]], session)
        case ("rate", number):
            memory._store.append([Rated(id=living[number], verdict="unhelpful", at=clock())])
        case ("link", number, other) if other < len(living):
            memory._store.append([Linked(a=living[number], b=living[other], kind="supersedes")])
        case ("forget", number):
            memory.forget(living[number])
        case _:
            pass


def everything(memory: Memory) -> tuple:
    """All that a dream can write, and what a question gets from it."""
    view = memory._store.view()
    ids = view.documents.ids.values
    lifecycle = [view.lifecycle.state(number, view.seq) for number in range(len(ids))]
    edges = [
        (edge.a, edge.b, edge.kind, edge.weight)
        for number in range(len(ids))
        for edge in view.graph.edges_of(number, view.seq, direction="out")
    ]
    clusters = [(one.name, one.centroid, one.members) for one in view.graph.clusters.at(view.seq)]
    answer = memory.recall("which port on tuesday", record=False, now="2040-01-01")
    alive = view.documents.rows_of(np.arange(len(ids)), view.seq) >= 0
    return lifecycle, edges, clusters, [(hit.id, hit.score) for hit in answer.hits], alive.tolist()


@settings(max_examples=30)
@given(st.lists(steps, min_size=4, max_size=16), st.sampled_from([0.1, 35.0, 200.0]))
def test_undream_restores_everything_the_dream_wrote(history, days):
    clock = Clock()
    with Memory.open(":memory:", embedder="hash", formula="reverie", clock=clock) as memory:
        for text in TEXTS * 2:
            memory.remember(text, session="s0")
        for step in history:
            act(memory, clock, step)
        clock.now += round(days * 86_400_000_000)
        before = everything(memory)
        report = memory.dream()
        undone = memory.undream(report.id)
        assert undone.left == ()
        assert everything(memory) == before
        assert memory.verify().exact


def test_what_changed_since_is_named_and_left(memory, clock, tell):
    for id_ in ("a", "b", "c"):
        memory.remember(f"note {id_}", id=id_, at="40 days ago")
    memory.access(["a"], "s1")
    first = memory.dream()
    assert not memory.get("b").visible
    memory.restore("b")
    memory.forget("b", reason="by hand")
    clock.pass_days(3)
    memory.access(["a"], "s2")
    memory.dream(phases=["stabilize"])
    kept = memory.get("a").state.stability
    undone = memory.undream(first.id)
    assert {(change.id, change.what) for change in undone.left} == {("b", "visibility"), ("a", "stability")}
    assert memory.get("a").state.stability == kept
    assert memory.get("b").hidden_because == "forgotten: by hand"
    assert memory.get("c").visible
    assert memory.get("a").state.consolidation_status == "staged"


def test_the_downscales_of_later_dreams_stay(memory, clock):
    memory.remember("note", id="a")
    first = memory.dream(phases=["downscale"])
    memory.dream(phases=["downscale"], settings={"downscale": {"factor": 0.5}})
    assert memory.get("a").state.strength == pytest.approx(0.95 * 0.5)
    memory.undream(first.id)
    assert memory.get("a").state.strength == 0.5


def test_a_replayed_strength_returns_with_later_downscales_applied(memory, clock, changes):
    memory.remember("alpha beta gamma", id="a", session="s")
    memory.remember("quite another thing", id="b", session="s")
    memory.dream(phases=["downscale"])
    clock.pass_hours(1)
    second = memory.dream(phases=["consolidate"])
    assert memory.get("a").state.strength > 0.95
    memory.dream(phases=["downscale"], settings={"downscale": {"factor": 0.5}})
    undone = memory.undream(second.id)
    assert undone.left == ()
    assert memory.get("a").state.strength == pytest.approx(0.95 * 0.5)


def test_a_dream_whose_successor_was_undone_can_be_undone_too(memory, clock):
    memory.remember("note", id="a")
    clock.pass_days(2)
    memory.access(["a"], "s1")
    first = memory.dream()
    clock.pass_days(5)
    memory.access(["a"], "s2")
    second = memory.dream()
    memory.undream(second.id)
    undone = memory.undream(first.id)
    state = memory.get("a").state
    assert undone.left == ()
    assert (state.stability, state.strength, state.consolidation_status) == (1.0, 1.0, "staged")


def test_an_undoing_names_its_dream_and_is_explained(memory, clock):
    memory.remember("note", id="a")
    clock.pass_hours(2)
    report = memory.dream()
    undone = memory.undream(report.id)
    assert undone.undoes == report.id
    (phase,) = undone.phases
    assert {(change.what, change.before, change.after) for change in phase.changes} == {
        ("status", "consolidated", "staged")
    }
    assert memory._store.projections.adoptions.last_dream(undone.head) == 0


def test_what_cannot_be_undone_is_refused_by_name(memory):
    memory.remember("note")
    report = memory.dream()
    undone = memory.undream(report.id)
    for dream, problem in (
        ("d999", "no dream has the id 'd999'"),
        (report.id, "was taken back already"),
        (undone.id, "took a dream back"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            memory.undream(dream)
