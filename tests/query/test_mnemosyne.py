"""mnemosyne: the weighted sum and its recency multiplier, as the document writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from small_world import HOUR, NOW, World, candidates, column, cosine, digits12, memory, vector

from recollect.events.errors import InvalidInput
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in

QUERY = vector(3, 1, 0)


def test_the_score_is_half_cosine_and_three_tenths_text_and_two_tenths_importance():
    near, far = vector(2, 1, 0), vector(0, 1, 5)
    world = World(
        memory("near", "red tea", vector=near, importance=0.9),
        memory("far", "red red tea leaves", vector=far, importance=0.3),
        *(memory(f"other{n}", "rain", vector=vector(0, 0, 1)) for n in range(5)),
    )
    ranking = world.rank("mnemosyne", "red", vector=QUERY)
    bm25 = column(world, ranking, "lexical")
    best = max(bm25.values())
    found = dict(zip(ranking.ids, ranking.scores, strict=True))
    for id_, point, importance in (("near", near, 0.9), ("far", far, 0.3)):
        base = cosine(QUERY, point) * 0.5 + bm25[id_] / best * 0.3 + importance * 0.2
        assert found[id_] == digits12(base * (0.7 + 0.3 * math.exp(-0.0 / 168.0)))
    assert bm25["far"] != bm25["near"], "the two hits differ, so dividing by the best is seen"


def test_the_best_text_hit_counts_1_and_a_memory_without_a_hit_0():
    world = World(memory("hit", "red tea"), memory("miss", "rain"), memory("third", "snow"))
    text = column(world, world.rank("mnemosyne", "red", vector=QUERY), "text")
    assert text == {"hit": 1.0}


@pytest.mark.parametrize(
    ("hours", "share"),
    [
        (0, 0.7 + 0.3 * 1.0),
        (168, 0.7 + 0.3 * math.exp(-1.0)),
        (24, 0.7 + 0.3 * math.exp(-24 / 168)),
        (10**7, 0.7),
    ],
)
def test_recency_multiplies_by_0_7_and_0_3_times_e_to_the_minus_hours_over_168(hours: int, share: float):
    world = World(memory("m", "rain", at=NOW - hours * HOUR, importance=0.5))
    base = cosine(QUERY, vector(1, 0, 0)) * 0.5 + 0.0 * 0.3 + 0.5 * 0.2
    assert world.scores("mnemosyne", "tea", vector=QUERY) == {"m": digits12(base * share)}


def test_a_memory_from_the_future_counts_as_new():
    world = World(memory("m", at=NOW + 900 * HOUR))
    base = cosine(QUERY, vector(1, 0, 0)) * 0.5 + 0.5 * 0.2
    assert world.scores("mnemosyne", "tea", vector=QUERY) == {"m": digits12(base * 1.0)}


def test_a_cosine_below_0_counts_as_0():
    world = World(memory("away", vector=vector(-1, 0, 0), importance=0.6))
    assert cosine(QUERY, vector(-1, 0, 0)) < 0.0
    assert world.scores("mnemosyne", "tea", vector=QUERY) == {"away": digits12(0.6 * 0.2)}


def test_a_memory_that_both_searches_find_is_one_result_with_the_higher_score():
    world = World(memory("both", "red tea", importance=0.0), memory("rest", "rain", vector=vector(0, 0, 1)))
    ranking = world.rank("mnemosyne", "tea", vector=QUERY)
    assert sorted(ranking.ids) == ["both", "rest"]
    by_meaning, by_words = cosine(QUERY, vector(1, 0, 0)) * 0.5, 1.0 * 0.3
    assert ranking.scores[0] == digits12(by_meaning + by_words)
    assert ranking.scores[0] > max(by_meaning, by_words)


def test_without_a_vector_words_and_importance_are_left():
    world = World(memory("hit", "red tea", importance=0.5), memory("miss", "rain"), memory("third", "snow"))
    assert world.scores("mnemosyne", "tea") == {"hit": digits12(0.3 * 1.0 + 0.2 * 0.5)}


@pytest.mark.parametrize(("k", "pool"), [(5, 50), (20, 60)])
def test_the_pool_of_each_search_is_fifty_or_three_times_k(k: int, pool: int):
    world = World(*(memory(f"m{n:03}", "rain") for n in range(100)))
    assert len(candidates(world, world.rank("mnemosyne", "snow", vector=QUERY, k=k))) == pool


@pytest.fixture
def store(tmp_path: Path) -> Callable[[str], Memory]:
    opened = []

    def open_(formula: str) -> Memory:
        opened.append(Memory.open(tmp_path, embedder="hash", formula=formula, clock=lambda: NOW))
        opened[-1].remember("tea with milk")
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


def test_its_weights_are_fixed_so_a_question_that_brings_some_is_refused(store: Callable[[str], Memory]):
    with pytest.raises(InvalidInput, match="the weights of formula 'mnemosyne' are fixed"):
        store("mnemosyne").recall("tea", context={"weights": {"similarity": 1.0}})
    assert not any(getattr(stage, "overridable", False) for stage in built_in("mnemosyne").stages)


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ({"vibes": 1.0}, "has no weight 'vibes'; there are cluster, decay"),
        ({"semantic": -0.1}, "weight 'semantic' is -0.1"),
        ({"semantic": math.nan}, "weight 'semantic' is nan"),
        ({"semantic": math.inf}, "weight 'semantic' is inf"),
        ({"semantic": 0.0, "usage": 0.0}, "every weight is 0"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_and_nothing_is_recorded(
    store: Callable[[str], Memory], weights: dict[str, float], complaint: str
):
    memory_ = store("memorysync")
    with pytest.raises(InvalidInput, match=complaint):
        memory_.recall("tea", context={"weights": weights})
    assert memory_.status().recalls == 0
    assert memory_.recall("tea", context={"weights": {"semantic": 2.0}}).hits
