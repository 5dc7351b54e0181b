"""A recall's id stands wherever a question is taken, and what was said beside it comes along."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.engine.recorded_question import posed
from recollect.events.errors import InvalidInput, UnknownRecall
from recollect.events.facts import Recalled

DAY = 86_400_000_000
START = 1_790_000_000_000_000


class Clock:
    now = START

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, Clock]]:
    clock = Clock()
    with Memory.open(tmp_path_factory.mktemp("told") / "store", embedder="hash", clock=clock) as memory:
        for number in range(12):
            memory.remember(
                f"release train {number} leaves at {number} with {'crew ' * (number % 4)}",
                id=f"m{number}", project=("p1", "p2")[number % 2], kind=("note", "fact")[number % 3 == 0],
                tags=[f"t{number % 3}"], importance=number / 12,
                valid_to=START / 1e6 + 100_000 if number == 5 else None,
            )  # fmt: skip
        yield memory, clock


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "k": st.integers(1, 12),
        "session": st.sampled_from(["s1", "s2"]),
        "formula": st.sampled_from(["reverie", "engram", "omega", "recollect"]),
        "now": st.integers(0, 400).map(lambda days: (START + days * DAY) / 1e6),
        "context": st.fixed_dictionaries({}, optional={"project": st.sampled_from(["p1", "p2"])}),
        "filters": st.fixed_dictionaries(
            {},
            optional={
                "project": st.sampled_from(["p1", "p2"]),
                "kinds": st.just(["note"]),
                "tags": st.just(["t1", "t2"]),
                "until": st.just((START + DAY) / 1e6),
                "valid_at": st.sampled_from(["any", START / 1e6]),
            },
        ),
    },
)


@given(options=OPTIONS, query=st.sampled_from(["release train crew", "train 7", "who leaves at 3?"]))
def test_a_recall_asked_again_at_its_own_moment_gets_what_it_got(
    told: tuple[Memory, Clock], options: dict[str, Any], query: str
) -> None:
    memory, _ = told
    answer = memory.recall(query, **options)
    again = memory.at(str(answer.id)).recall(str(answer.id))
    assert [(hit.id, hit.score) for hit in again.hits] == [(hit.id, hit.score) for hit in answer.hits]
    assert (again.basis, again.now, again.formula) == (answer.basis, answer.now, answer.formula)


@given(options=OPTIONS, other=OPTIONS)
def test_each_option_can_be_said_otherwise(
    told: tuple[Memory, Clock], options: dict[str, Any], other: dict[str, Any]
) -> None:
    memory, _ = told
    recall = str(memory.recall("release train", **options).id)
    asked = posed(memory.store, recall, {**other}).options  # type: ignore[typeddict-item]
    for name in ("k", "session", "formula", "now"):
        if name in other:
            assert asked[name] == other[name]  # type: ignore[literal-required]
    for name in ("filters", "context"):
        given_now, given_then = other.get(name, {}), options.get(name, {})
        together = asked[name]  # type: ignore[literal-required]
        assert {key: together[key] for key in given_now} == given_now
        assert given_then.keys() <= together.keys()


@pytest.fixture
def accused(tmp_path: Path) -> Iterator[Memory]:
    """A memory that was first in its project until another was told; in the other project it never was."""
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("The release train leaves on Thursday", id="right", project="p1")
        memory.remember("release train Thursday release train", id="other-project", project="p2")
        memory.remember("Lunch is at noon", id="lunch", project="p1")
        memory.recall("release train", filters={"project": "p1"}, formula="reverie")
        memory.remember("release train release train release train", id="culprit", project="p1")
        yield memory


def test_bisect_names_the_culprit_by_the_filter_and_by_the_recall(accused: Memory) -> None:
    head = accused.store.log.head
    recall = str(accused.recall("release train", filters={"project": "p1"}).id)
    by_filter = accused.bisect("release train", "right", until_rank=1, filters={"project": "p1"})
    by_recall = accused.bisect(recall, "right", until_rank=1)
    assert by_filter.seq == by_recall.seq == head
    assert "culprit" in by_filter.event == by_recall.event
    other_way = accused.bisect(recall, "other-project", until_rank=1, filters={"project": "p2"})
    assert other_way.seq is None or "culprit" not in other_way.event


def test_why_changed_and_ranks_take_a_recall(accused: Memory) -> None:
    first = accused.recalls()[0].id
    change = accused.why_changed(first, "right", first)
    assert (change.since.rank, change.until.rank) == (1, 2)
    assert change.since.formula.startswith("reverie@")
    history = accused.ranks("right", first)
    assert [point.rank for point in history.points][-1] == 2
    assert {point.rank for point in history.points} <= {1, 2}


def test_a_recall_asked_again_changes_no_formula_in_force(accused: Memory) -> None:
    in_force = accused.status().formula
    answer = accused.recall(accused.recalls()[0].id)
    assert answer.formula.startswith("reverie@")
    assert accused.status().formula == in_force
    fact = accused.store.event(int(str(answer.id)[1:])).fact
    assert isinstance(fact, Recalled)
    assert (fact.question.text, fact.question.filters.project) == ("release train", "p1")


def test_the_recorded_vector_is_asked_where_no_embedder_is_at_hand(accused: Memory, tmp_path: Path) -> None:
    recall = str(accused.recall("release train", filters={"project": "p1"}).id)
    recorded = [(hit.id, hit.score) for hit in accused.show(recall).hits]
    with Memory.open(tmp_path / "store", embedder=None) as wordless:
        again = wordless.at(recall).recall(recall)
    assert [(hit.id, hit.score) for hit in again.hits] == recorded
    assert again.degraded == ()


def test_an_id_that_no_recall_has_is_a_text_to_recall_and_an_error_to_the_others(accused: Memory) -> None:
    assert accused.recall("r1", record=False).query == "r1"
    for ask in (
        lambda: accused.bisect("r1", "right"),
        lambda: accused.ranks("right", "r999"),
        lambda: accused.why_changed("r1", "right", "@2"),
        lambda: accused.compare("reverie", "omega", recalls=["r1"]),
    ):
        with pytest.raises(UnknownRecall, match="is not the id of a recorded recall"):
            ask()


def test_a_question_that_was_erased_cannot_be_asked_again(tmp_path: Path) -> None:
    clock = Clock()
    with Memory.open(tmp_path / "store", embedder=None, clock=clock) as memory:
        memory.remember("red apple", id="apple")
        old = str(memory.recall("apple").id)
        clock.now += 400 * DAY
        memory.retain(recalls="180d")
        for ask in (lambda: memory.recall(old), lambda: memory.bisect(old, "apple"), lambda: memory.at(old)):
            with pytest.raises(InvalidInput, match="erased"):
                ask()


def test_compare_takes_some_recalls(accused: Memory) -> None:
    second = str(accused.recall("release train", filters={"project": "p1"}).id)
    assert accused.compare("reverie", "omega", recalls=[second]).questions == 1
    assert accused.compare("reverie", "omega").questions == 2
    with pytest.raises(InvalidInput, match="leave out `last`"):
        accused.compare("reverie", "omega", recalls=[second], last=1)
