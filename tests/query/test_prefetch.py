"""A vector search that is begun before its turn finds what it would have found in its turn."""

from __future__ import annotations

import threading

import msgspec
import pytest

from recollect import Memory
from recollect.engine.store import Store
from recollect.events.facts import Filters, Question, Recalled
from recollect.projections.vectors.index import Vectors
from recollect.query.formula import built_in, names
from recollect.query.ranking import rank
from recollect.query.sheet import RankContext
from recollect.query.stages import retrieving

TEXTS = [f"note {n} about {topic}" for n in range(12) for topic in ("tea", "kettles", "trains", "rain")]


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.setattr(Vectors, "shards_at", lambda _self, _at: ["as if there were one"])
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember_many(TEXTS)
        memory.recall("a note about trains")
        yield memory.store


@pytest.fixture
def question(store: Store) -> Question:
    return next(one.fact.question for one in store.log.read() if isinstance(one.fact, Recalled))


@pytest.mark.parametrize("name", names())
def test_every_formula_ranks_the_same_with_and_without(store: Store, question: Question, name: str):
    formula, view = built_in(name), store.view()
    store.require_analyzers(formula.analyzers)
    early, late = rank(question, view, formula, prefetch=True), rank(question, view, formula)
    assert early._replace(sheet=late.sheet) == late
    assert early.ids


def test_a_search_begun_early_leaves_no_thread_and_is_used_once(
    store: Store, question: Question, monkeypatch
):
    taken = []
    monkeypatch.setattr(
        retrieving.Prefetch, "take", lambda self, take=retrieving.Prefetch.take: taken.append(1) or take(self)
    )
    rank(question, store.view(), built_in("reverie"), prefetch=True)
    assert taken == [1]
    assert [
        thread.name for thread in threading.enumerate() if thread.name.startswith("recollect-prefetch")
    ] == []


def test_what_goes_wrong_in_it_is_raised_where_it_is_needed(store: Store, question: Question, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the shard is gone")

    monkeypatch.setattr(Vectors, "search", broken)
    with pytest.raises(RuntimeError, match="the shard is gone"):
        rank(question, store.view(), built_in("reverie"), prefetch=True)


def test_questions_without_a_vector_or_with_hard_filters_are_not_begun(store: Store, question: Question):
    for other in (
        msgspec.structs.replace(question, vector=None),
        msgspec.structs.replace(question, filters=Filters(project="p")),
    ):
        assert retrieving.start_prefetch(RankContext(other, store.view()), built_in("reverie").stages) is None
