"""engram: the two-stage RRF plan step by step, its verification list, and the formula that it replaced."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest
from small_world import (
    DAY,
    HOUR,
    NOW,
    World,
    candidates,
    column,
    cosine,
    digits12,
    memory,
    vector,
    with_stage,
)

from recollect.events.facts import Accessed, Forgotten, Previous
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import Formula, InvalidFormula, built_in, parse
from recollect.query.stages.scoring import Fuse

K = 60
QUERY = vector(3, 1, 0)
HIGH = 1.0 / (K + 1) - 1.0 / (K + 11)
ALL = with_stage(built_in("engram"), len(built_in("engram").stages), top=1000)


def rrf(*, bm25: int | None = None, cosine: int, recency: int, access: int) -> float:
    """Step 2c: the weighted sum over four ranked lists."""
    score = 0.0 if bm25 is None else 1.0 / (K + bm25)
    return score + 1.0 / (K + cosine) + 0.6 / (K + recency) + 0.4 / (K + access)


def accesses(id_: str, count: int) -> list[Accessed]:
    return [Accessed(ids=(id_,), at=NOW) for _ in range(count)]


# --- step 2b and 2c: four lists, one sum -----------------------------------------------------------


def test_the_score_is_a_weighted_sum_of_reciprocal_ranks_in_four_lists():
    world = World(
        memory("a", "red red red", vector=vector(0, 1, 0), at=NOW - 3 * DAY),
        memory("b", "red tea", vector=vector(3, 1, 0), at=NOW - DAY),
        memory("c", "rain", vector=vector(2, 1, 0), at=NOW - 2 * DAY),
        *accesses("c", 2),
        *accesses("a", 1),
        *(memory(f"z{n}", "filler", vector=None) for n in range(4)),
    )
    assert world.scores("engram", "red", vector=QUERY, k=10) == {
        "b": digits12(rrf(bm25=2, cosine=1, recency=1, access=3)),
        "a": digits12(rrf(bm25=1, cosine=3, recency=3, access=2)),
        "c": digits12(rrf(cosine=2, recency=2, access=1)),
    }


@pytest.mark.parametrize(("how", "rank"), [("returned", 1), ("injected", 1), ("used", 2)])
def test_showing_a_memory_touches_it_and_only_use_raises_its_count(how: str, rank: int):
    world = World(memory("shown", at=NOW - DAY), memory("other"), Accessed(ids=("shown",), at=NOW, how=how))
    ranking = world.rank("engram", "", vector=QUERY)
    assert column(world, ranking, "access.rank") == {"shown": 1.0, "other": float(rank)}
    assert column(world, ranking, "recent") == {"shown": 4.0, "other": 3.0}, "by last touch"
    legacy = world.rank("engram-legacy", "", vector=QUERY)
    frequency = {"shown": 1.0, "other": 1.0 / rank}  # (n + 1) / (max + 1)
    assert column(world, legacy, "access_frequency") == frequency


@pytest.mark.parametrize("k", [60.0, 10.0])
def test_the_bonus_of_high_importance_follows_the_k_of_the_fuse(k: float):
    stages = built_in("engram").stages
    fuse = 1 + next(n for n, stage in enumerate(stages) if isinstance(stage, Fuse))
    formula = with_stage(built_in("engram"), fuse, k=k)
    world = World(memory("high", importance=0.9), memory("plain"))
    scores = world.scores(formula, "", vector=QUERY)
    assert scores["high"] - scores["plain"] == pytest.approx(1 / (k + 1) - 1 / (k + 11), rel=1e-9)


def test_a_bonus_that_follows_a_fuse_needs_one():
    stage = '{ op = "retrieve", channel = "vector" }, { op = "add", factor = "high_importance_bonus" }'
    with pytest.raises(InvalidFormula, match="needs the k of a `fuse` before it, but no `fuse` comes before"):
        parse(f'name = "x"\nstages = [{stage}]', origin="x")


def test_equal_values_share_a_dense_rank():
    world = World(*(memory(f"m{n}", at=NOW - day * DAY) for n, day in enumerate([1, 2, 2, 3])))
    found = world.scores(ALL, "red", vector=QUERY, k=10)
    assert found == {
        f"m{n}": digits12(rrf(cosine=1, recency=rank, access=1)) for n, rank in enumerate([1, 2, 2, 3])
    }


def test_recency_is_ranked_to_the_microsecond():
    world = World(memory("old", at=NOW - 2), memory("new", at=NOW - 1))
    assert column(world, world.rank("engram", "", vector=QUERY), "recency.rank") == {"new": 1.0, "old": 2.0}


def test_no_keyword_hit_at_all_skips_the_keyword_term():
    world = World(memory("m"))
    assert world.scores("engram", "xylophone", vector=QUERY) == {
        "m": digits12(rrf(cosine=1, recency=1, access=1))
    }


@pytest.mark.parametrize(("importance", "bonus"), [(1.0, HIGH), (0.8, HIGH), (0.79, 0.0), (0.5, 0.0)])
def test_high_importance_is_worth_ten_positions_at_the_top(importance: float, bonus: float):
    world = World(memory("m", importance=importance))
    expected = rrf(cosine=1, recency=1, access=1) + bonus
    assert world.scores("engram", "", vector=QUERY) == {"m": digits12(expected)}
    assert pytest.approx(0.0023, abs=5e-5) == HIGH


def test_only_the_best_three_are_recollected():
    world = World(*(memory(f"m{n}", vector=vector(9, n, 0)) for n in range(6)))
    assert len(world.rank("engram", "", vector=vector(9, 0, 0), k=10).ids) == 3
    assert len(world.rank("engram", "", vector=vector(9, 0, 0), k=2).ids) == 2


# --- step 2a: the pool -----------------------------------------------------------------------------


def crowd(count: int) -> list[object]:
    return [memory(f"m{n:03}", f"filler {n}", vector=vector(9, n % 7, 0)) for n in range(count)]


def test_the_pool_is_the_200_memories_touched_last():
    world = World(*crowd(250), *accesses("m003", 1))
    expected = {"m003"} | {f"m{n:03}" for n in range(51, 250)}
    assert candidates(world, world.rank(ALL, "xylophone", vector=QUERY)) == expected


def test_the_pool_at_a_past_seq_is_that_of_the_moment():
    world = World(*crowd(250))
    before = world.projections.position
    then = world.rank(ALL, "xylophone", vector=QUERY, k=300)
    world.tell(*accesses("m003", 1), memory("later"), Forgotten(id="m200"))
    again = world.rank(ALL, "xylophone", vector=QUERY, k=300, at=before)
    assert (again.ids, again.scores) == (then.ids, then.scores)


def test_memories_without_a_vector_take_no_place_in_the_pool():
    world = World(*crowd(210), *(memory(f"bare{n}", vector=None) for n in range(50)))
    assert candidates(world, world.rank(ALL, "xylophone", vector=QUERY)) == {
        f"m{n:03}" for n in range(10, 210)
    }


def test_a_keyword_hit_without_a_vector_is_no_candidate():
    world = World(memory("bare", "red tea", vector=None), memory("m", "rain"), memory("n", "snow"))
    assert set(world.scores("engram", "red", vector=QUERY)) == {"m", "n"}


def test_the_fifty_best_keyword_hits_have_a_keyword_rank():
    world = World(*(memory(f"m{n:03}", "red " + "x " * n) for n in range(80)))
    world.tell(*(memory(f"z{n:03}", "filler") for n in range(100)))
    ranks = column(world, world.rank(ALL, "red", vector=QUERY), "bm25.rank")
    assert len(ranks) == 50
    assert ranks["m000"] == 1.0


def test_a_question_without_a_vector_recollects_nothing():
    world = World(memory("m", "red tea"))
    assert world.scores("engram", "red") == {}
    assert world.scores("engram-legacy", "red") == {}


# --- the plan's verification list --------------------------------------------------------------------


def test_with_fewer_than_200_memories_all_are_candidates():
    world = World(*crowd(199), *accesses("m007", 3))
    found = candidates(world, world.rank(ALL, "filler 12", vector=QUERY))
    assert found == {f"m{n:03}" for n in range(199)}


def test_with_more_than_200_an_old_memory_surfaces_by_its_keywords():
    world = World(memory("old", "the zanzibar protocol", vector=vector(9, 1, 0)), *crowd(300))
    assert "old" in world.scores("engram", "zanzibar protocol", vector=vector(9, 1, 0))
    assert "old" not in world.scores("engram", "something else", vector=vector(9, 1, 0))
    assert "old" not in world.scores("engram-legacy", "zanzibar protocol", vector=vector(9, 1, 0))


def test_a_memory_of_high_importance_rises_above_its_equals():
    world = World(memory("a", importance=0.5), memory("b", importance=0.9))
    assert list(world.scores("engram", "", vector=QUERY)) == ["b", "a"]


def test_opening_again_and_again_with_and_without_caches_recollects_the_same(tmp_path: Path):
    def recollect() -> list[tuple[str, float]]:
        with Memory.open(tmp_path, embedder="hash", formula="engram", clock=lambda: NOW) as store:
            store._store.checkpoint()
            hits = store.recall("red tea", record=False).hits
        return [(hit.id, hit.score) for hit in hits]

    with Memory.open(tmp_path, embedder="hash", clock=lambda: NOW) as store:
        for n in range(30):
            store.remember(f"{'red' if n % 3 else 'blue'} tea {n}", id=f"m{n}")
        store.access("m4")
    first = recollect()
    assert len(first) == 3
    assert recollect() == first
    shutil.rmtree(tmp_path / "cache")
    assert recollect() == first


# --- the topic gate ----------------------------------------------------------------------------------


def gated() -> Formula:
    return with_stage(built_in("engram"), 1, enabled=True)


def previous(point: bytes, *ids: str) -> dict[str, object]:
    scores = tuple(0.5 / n for n in range(1, len(ids) + 1))
    return {"effects": {"previous": Previous(recall=7, vector=point, ids=ids, scores=scores)}}


def test_a_question_on_the_same_topic_keeps_the_previous_recollection():
    world = World(memory("a"), memory("b"), memory("c", "red"))
    ranking = world.rank(gated(), "red", vector=QUERY, **previous(vector(3, 1.2, 0), "b", "a"))
    assert cosine(QUERY, vector(3, 1.2, 0)) > 0.85
    assert list(zip(ranking.ids, ranking.scores, strict=True)) == [("b", 0.5), ("a", 0.25)]
    assert ranking.sheet.facts["topic_gate"] == "r7"


def test_a_question_on_another_topic_is_ranked_from_scratch():
    world = World(memory("a"), memory("b"), memory("c", "red"))
    ranking = world.rank(gated(), "red", vector=QUERY, **previous(vector(0, 1, 3), "b", "a"))
    assert ranking.ids[0] == "c"
    assert "topic_gate" not in ranking.sheet.facts


def test_the_gate_does_not_open_at_its_threshold_itself():
    world = World(memory("a"), memory("c", "red"), memory("d"))
    point = vector(3, 1.2, 0)
    at = with_stage(gated(), 1, threshold=cosine(QUERY, point))
    assert world.rank(at, "red", vector=QUERY, **previous(point, "a")).ids[0] == "c"


def test_what_was_forgotten_since_drops_out_of_the_previous_recollection():
    world = World(memory("a"), memory("b"), Forgotten(id="b"))
    same = previous(QUERY, "b", "a", "never-born")
    assert world.scores(gated(), "red", vector=QUERY, **same) == {"a": 0.25}
    kept = world.rank(gated(), "red", vector=QUERY, filters={"exclude": ["a"]}, **same)
    assert kept.ids == ()
    assert "topic_gate" not in kept.sheet.facts, "nothing was left to keep"


def test_a_gate_must_lead_to_a_stage_after_it():
    with pytest.raises(InvalidFormula, match="jumps to 'nowhere'"):
        parse('name = "x"\nstages = [{ op = "gate", to = "nowhere" }]', origin="x.toml")


def test_the_gate_is_an_option_that_is_off():
    world = World(memory("a"), memory("c", "red"), memory("d"))
    assert world.rank("engram", "red", vector=QUERY, **previous(QUERY, "a")).ids[0] == "c"


def test_the_edge_records_the_previous_recollection_of_the_session_and_verifies(tmp_path: Path):
    path = tmp_path / "gated.toml"
    plain = (Path(__file__).parents[2] / "query" / "formulas" / "engram.toml").read_text("utf-8")
    path.write_text(plain.replace("enabled = false", "enabled = true"), "utf-8")
    with Memory.open(tmp_path / "store", embedder="hash", formula=path, clock=lambda: NOW) as store:
        for n, text in enumerate(["red tea", "green tea", "rain in june", "snow"]):
            store.remember(text, id=f"m{n}")
        first = store.recall("red tea", session="s")
        store.remember("red tea again", id="m9")
        assert "topic_gate" not in first.facts
        kept = store.recall("red tea", session="s")
        assert kept.facts["topic_gate"] == first.id
        assert [(h.id, h.score) for h in kept.hits] == [(h.id, h.score) for h in first.hits]
        assert "m9" in [hit.id for hit in store.recall("red tea", session="other").hits]
        assert "m9" in [hit.id for hit in store.recall("red tea").hits]
        assert store.at(f"@{kept.basis}").recall("red tea", session="s").facts["topic_gate"] == first.id
        report = store.verify()
        assert (report.exact, report.checked) == (True, 4)


# --- the formula it replaced -------------------------------------------------------------------------


def legacy(*, cosine: float, text: float, importance: float, age_days: float, count: int, most: int) -> float:
    relevance = 0.7 * cosine + 0.3 * text
    if importance >= 0.8:
        relevance = max(relevance, 0.3)
    recency = math.exp(-math.log(2) / 30 * age_days)
    return 0.5 * relevance + 0.3 * recency + 0.2 * (count + 1) / (most + 1)


def test_the_legacy_score_weighs_relevance_recency_and_access_frequency():
    near, far = vector(2, 1, 0), vector(0, 1, 5)
    world = World(
        memory("best", "red red red", vector=far, at=NOW - 30 * DAY),
        memory("worst", "red tea in a large cup", vector=near, at=NOW - 12 * HOUR),
        memory("miss", "rain", vector=near, at=NOW - 90 * DAY),
        *accesses("worst", 3),
        *accesses("miss", 1),
        *(memory(f"z{n}", "filler", vector=None) for n in range(5)),
    )
    cases = {
        "best": legacy(cosine=cosine(QUERY, far), text=1.0, importance=0.5, age_days=30, count=0, most=3),
        "worst": legacy(cosine=cosine(QUERY, near), text=0.0, importance=0.5, age_days=0.5, count=3, most=3),
        "miss": legacy(cosine=cosine(QUERY, near), text=0.0, importance=0.5, age_days=90, count=1, most=3),
    }
    found = world.scores("engram-legacy", "red", vector=QUERY)
    assert found == pytest.approx(cases, rel=1e-11)


def test_legacy_min_max_gives_a_hit_in_between_its_share():
    world = World(
        *(memory(id_, "red " * n + "x " * (9 - n)) for id_, n in (("a", 6), ("b", 3), ("c", 1))),
        *(memory(f"z{n}", "filler") for n in range(8)),
    )
    ranking = world.rank("engram-legacy", "red", vector=QUERY)
    raw, text = column(world, ranking, "lexical"), column(world, ranking, "text")
    assert text["a"] == 1.0
    assert text["c"] == 0.0
    assert text["b"] == (raw["b"] - raw["c"]) / (raw["a"] - raw["c"])


def test_a_single_keyword_hit_is_worth_one_half_in_the_legacy_formula():
    world = World(memory("hit", "red tea"), memory("miss", "rain"), memory("third", "snow"))
    expected = legacy(
        cosine=cosine(QUERY, vector(1, 0, 0)), text=0.5, importance=0.5, age_days=0, count=0, most=0
    )
    assert world.scores("engram-legacy", "red", vector=QUERY)["hit"] == digits12(expected)


@pytest.mark.parametrize("importance", [0.8, 0.7])
def test_high_importance_floors_the_legacy_relevance_at_0_3(importance: float):
    away = vector(-1, 2, 0)
    world = World(memory("m", vector=away, importance=importance))
    expected = legacy(
        cosine=cosine(QUERY, away), text=0.0, importance=importance, age_days=0, count=0, most=0
    )
    assert 0.7 * cosine(QUERY, away) < 0.3
    assert world.scores("engram-legacy", "x", vector=QUERY) == {"m": digits12(expected)}


def test_legacy_half_life_is_30_days_and_three_are_returned():
    world = World(*(memory(f"m{days}", at=NOW - days * DAY) for days in (0, 30, 60, 90)))
    ranking = world.rank("engram-legacy", "x", vector=QUERY)
    recency = column(world, ranking, "half_life_recency")
    assert recency == pytest.approx({"m0": 1.0, "m30": 0.5, "m60": 0.25, "m90": 0.125}, rel=1e-14)
    assert ranking.ids == ("m0", "m30", "m60")
