"""reverie: the eight factors of ADR-006 one by one, their flags, and the token budget."""

from __future__ import annotations

import math

import pytest
from small_world import DAY, NOW, World, candidates, digits12, memory, vector, with_stage

from recollect.events.facts import (
    Accessed,
    Consolidated,
    DreamEnded,
    Placed,
    Placement,
    Revised,
    StabilityChange,
    Stabilized,
    StrengthChange,
)
from recollect.query.formula import built_in
from recollect.query.stages.scoring import Multiply

QUERY = vector(3, 1, 0)
FRESH = 1.0 + 0.3 * math.exp(-0.0 / 30.0)
FACTORS = ("strength", "depth_weight", "session_spread", "stability")

SLEPT = (
    Accessed(ids=("m",), at=NOW - 10 * DAY, session="s1"),
    Accessed(ids=("m",), at=NOW - 10 * DAY, session="s2"),
    Accessed(ids=("m",), at=NOW - 10 * DAY, session="s3"),
    Consolidated(dream="d", changes=(StrengthChange(id="m", before=1.0, after=0.6),)),
    Placed(
        dream="d",
        changes=(Placement(id="m", status_before="staged", status="consolidated", depth_before=2, depth=3),),
    ),
    Stabilized(dream="d", changes=(StabilityChange(id="m", before=1.0, after=4.0),)),
    DreamEnded(dream="d"),
)
WORTH = {
    "strength": 0.6,
    "depth_weight": 1.2,
    "session_spread": math.log(1 + 3) / math.log(2),
    "stability": 1.0 + 0.3 * (math.exp(-10 / (30 * 4.0)) - math.exp(-10 / 30)),
}


def test_factors_1_to_3_are_reciprocal_ranks_of_words_and_meaning_with_k_30():
    world = World(
        memory("a", "red tea", vector=vector(0, 1, 0)),
        memory("b", "red red red", vector=vector(3, 1, 0)),
        *(memory(f"z{n}", "rain", vector=None) for n in range(5)),
    )
    assert world.scores("reverie", "red", vector=QUERY) == {
        "b": digits12((1 / (30 + 1) + 1 / (30 + 1)) * FRESH),
        "a": digits12((1 / (30 + 2) + 1 / (30 + 2)) * FRESH),
    }


def test_a_memory_that_one_search_alone_finds_has_one_term():
    world = World(
        memory("words", "red tea", vector=None),
        memory("meaning", "rain"),
        memory("third", "snow", vector=None),
    )
    assert world.scores("reverie", "red", vector=QUERY) == {
        "meaning": digits12(1 / (30 + 1) * FRESH),
        "words": digits12(1 / (30 + 1) * FRESH),
    }


@pytest.mark.parametrize("days", [0, 1, 30, 365])
def test_factor_4_is_a_boost_by_the_age_of_the_last_update(days: int):
    born = memory("m", at=NOW - 900 * DAY)
    world = World(born, Revised(id="m", at=NOW - days * DAY, importance=0.9))
    decay = 1.0 + 0.3 * math.exp(-days / 30.0)
    assert world.scores("reverie", "x", vector=QUERY) == {"m": digits12(1 / 31 * decay)}


def test_at_its_defaults_the_lifecycle_changes_nothing():
    world = World(memory("m", "red"), Accessed(ids=("m",), at=NOW - DAY, session="s1"))
    plain = built_in("reverie")
    for number, stage in enumerate(plain.stages, 1):
        if isinstance(stage, Multiply) and stage.column in FACTORS:
            plain = with_stage(plain, number, enabled=False)
    assert world.scores("reverie", "red", vector=QUERY) == world.scores(plain, "red", vector=QUERY)


def test_factors_5_to_8_multiply_after_a_dream():
    world = World(memory("m", at=NOW - 40 * DAY), *SLEPT)
    score = 1 / 31 * (1.0 + 0.3 * math.exp(-40 / 30))
    for factor in FACTORS:
        score *= WORTH[factor]
    assert world.scores("reverie", "x", vector=QUERY) == {"m": digits12(score)}


@pytest.mark.parametrize("off", FACTORS)
def test_each_lifecycle_factor_has_a_flag_of_its_own(off: str):
    formula = built_in("reverie")
    (number,) = [n for n, s in enumerate(formula.stages, 1) if isinstance(s, Multiply) and s.column == off]
    world = World(memory("m", at=NOW), *SLEPT)
    score = 1 / 31 * FRESH
    for factor in FACTORS:
        score *= 1.0 if factor == off else WORTH[factor]
    without = world.scores(with_stage(formula, number, enabled=False), "x", vector=QUERY)
    assert without == {"m": digits12(score)}
    assert without != world.scores(formula, "x", vector=QUERY)


def test_each_search_gives_at_most_a_hundred_candidates():
    world = World(
        *(memory(f"w{n:03}", "red", vector=None) for n in range(150)),
        *(memory(f"v{n:03}", "rain") for n in range(150)),
        *(memory(f"z{n:03}", "snow", vector=None) for n in range(300)),
    )
    assert len(candidates(world, world.rank("reverie", "red", vector=QUERY, k=500))) == 100 + 100


def test_the_budget_variant_ranks_the_same_and_fills_its_tokens_greedily():
    sizes = {"a": 4000, "b": 4001, "c": 3999, "d": 1}
    world = World(
        *(memory(id_, "x" * size, vector=vector(9, n, 0)) for n, (id_, size) in enumerate(sizes.items()))
    )
    query = vector(9, 0, 0)
    whole = world.scores("reverie", "snow", vector=query)
    assert list(whole) == ["a", "b", "c", "d"]
    # 2000 tokens: a takes ceil(4000 / 4), b would take 1001 of the 1000 left, c takes 1000, d finds nothing left.
    assert [math.ceil(size / 4) for size in sizes.values()] == [1000, 1001, 1000, 1]
    budget = world.scores("reverie-budget", "snow", vector=query)
    assert budget == {"a": whole["a"], "c": whole["c"]}


def test_a_budget_never_splits_a_memory():
    world = World(memory("long", "x" * 8001), memory("short", "x"))
    assert list(world.scores("reverie-budget", "snow", vector=QUERY)) == ["short"]


def test_the_budget_variant_has_the_stages_of_reverie_and_one_more():
    assert built_in("reverie-budget").stages[:-1] == built_in("reverie").stages
