"""OMEGA's thirteen phases, twenty-three groups and ten steps, each against the arithmetic of its document."""

from __future__ import annotations

import math

import pytest
from small_world import DAY, NOW, World, column, cosine, digits12, memory, vector

from recollect.events.facts import (
    Accessed,
    Cluster,
    Clustered,
    Context,
    Effects,
    Expansion,
    Forgotten,
    Linked,
    Question,
    Rated,
    Reranked,
)
from recollect.projections.portable_math import exp
from recollect.projections.view import Projections
from recollect.query.formula import built_in
from recollect.query.ranking import Ranking
from recollect.query.sheet import RankContext, Step
from recollect.query.stages.stage import FactorStage

OMEGA = built_in("omega")
EAST, NORTH, UP = vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1)


def step(ranking: Ranking, op: str) -> Step | None:
    """What the first stage of this op or factor did; None if it was left out."""
    for found in ranking.sheet.steps:
        stage = OMEGA.stages[found.stage]
        name = stage.column if isinstance(stage, FactorStage) else stage.__struct_config__.tag
        if name == op:
            return found
    return None


def after(world: World, ranking: Ranking, op: str) -> dict[str, float]:
    """Scores by id after the first stage of this op or factor."""
    found = step(ranking, op)
    assert found is not None, op
    ids = world.projections.documents.ids.values
    return {ids[m]: s for m, s in zip(ranking.sheet.memories.tolist(), found.after.tolist(), strict=False)}


def dial(key: str, text: str = "plain words", **context: str) -> float:
    question = Question(text=text, now=NOW, context=Context(**context))
    return RankContext(question, Projections().at(0, 0), OMEGA.dials).dial(key)


def helpful(id_: str, times: int = 1) -> list[Rated]:
    return [Rated(id=id_, verdict="helpful", at=NOW)] * times


def outdated(id_: str) -> Rated:
    return Rated(id=id_, verdict="outdated", at=NOW)


def used(id_: str, times: int = 1, at: int = NOW) -> list[Accessed]:
    return [Accessed(ids=(id_,), at=at)] * times


def trigrams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text[:200]) - 2)}


def jaccard(a: str, b: str) -> float:
    return len(trigrams(a) & trigrams(b)) / len(trigrams(a) | trigrams(b))


# --- the whole formula, step by step ---------------------------------------------------------------


def test_the_ten_steps_of_the_document_give_the_score():
    world = World(
        memory("m1", "copper kettle boils water", kind="decision", vector=vector(10, 3, 0), tags=("stove",), at=NOW - 40 * DAY),
        memory("m2", "copper kettle and iron pan", kind="lesson_learned", vector=vector(10, 0, 9), project="kitchen", priority=2),
        memory("m3", "iron pan for the kettle shelf", kind="test", vector=vector(10, -4, 0)),
        *helpful("m2", 3),
        *used("m1", 2, at=NOW - 30 * DAY),
        Linked(a="m2", b="m3", kind="derived_from"),
        Clustered(method="x", clusters=(Cluster(name="c", centroid=EAST, members=("m1",)),)),
    )  # fmt: skip
    context = {"tags": ["stove"], "project": "kitchen", "profile": "decision"}
    question = "copper kettle pan river lake sea moon"  # seven words, so that no text is a strong signal
    ranking = world.rank("omega", question, vector=EAST, context=context)
    assert column(world, ranking, "vector.rank") == {"m1": 1, "m3": 2, "m2": 3}
    assert column(world, ranking, "text.rank") == {"m2": 1, "m1": 2, "m3": 3}

    pw_vec, pw_text, pw_word, pw_graph = 0.8, 0.6, 0.5, 2.0  # the profile `decision`, no intent
    raw = {
        id_: pw_vec * (1 / (60 + v)) / (1 / 61) + pw_text * (1 / (60 + t)) / (1 / 61)
        for id_, v, t in (("m1", 1, 2), ("m2", 3, 1), ("m3", 2, 3))
    }
    rrf = {id_: score / max(raw.values()) for id_, score in raw.items()}
    # type weight, feedback, priority, decay, Thompson (below five verdicts), consolidation quality
    metadata = {
        "m1": 2.0 * 1.0 * (0.7 + 4 * 0.08) * math.exp(-0.015 * 0.85**2 * 30) * 1.0,
        "m2": 2.0 * (1 + 3 * 0.15) * (0.7 + 2 * 0.08) * 1.0 * 1.0 * (1 + 1 * 0.1),
        "m3": 0.4 * 1.0 * (0.7 + 3 * 0.08) * 1.0 * 1.0,
    }
    words = {"m1": 2 / 7, "m2": 3 / 7, "m3": 2 / 7}
    score = {id_: rrf[id_] * metadata[id_] * (1 + words[id_] * 0.5 * 1.0 * pw_word) for id_ in rrf}
    score["m1"] *= 1 + (1 * 0.10) * 1.0  # the context's tag
    score["m2"] *= 1 + (1 * 0.15) * 1.0  # the context's project
    score["m1"] *= 1 + min((1.0 - 0.5) * 0.33, 0.15)  # its cluster's centroid is the question
    score["m3"] = max(score["m3"], score["m2"] * 0.4 * 1.0 * pw_graph)  # linked to m2
    expected = {id_: s / max(score.values()) for id_, s in score.items()}
    got = dict(zip(ranking.ids, ranking.scores, strict=True))
    assert got == {id_: pytest.approx(s, rel=1e-11) for id_, s in expected.items()}
    assert max(got.values()) == 1.0


# --- groups 3 and 4: profiles and intents ----------------------------------------------------------

PROFILES = {
    "_default": (1.0, 1.0, 1.0, 1.0, 1.0),
    "error_pattern": (0.3, 1.5, 2.0, 0.5, 0.3),
    "decision": (0.8, 0.6, 0.5, 1.0, 2.0),
    "lesson_learned": (1.5, 0.8, 0.5, 0.8, 1.0),
    "user_preference": (0.6, 1.0, 1.5, 0.3, 0.3),
    "knowledge-update": (0.8, 1.3, 1.5, 1.0, 1.0),
    "multi-session": (1.3, 1.0, 1.3, 1.0, 1.0),
    "temporal-reasoning": (1.0, 1.3, 1.3, 1.0, 1.0),
}
INTENTS = {
    "which tea": (0.3, 1.5, 1.8, 1.0, 1.0),
    "explain tea": (1.8, 0.5, 0.3, 1.0, 1.0),
    "tea_cup": (0.1, 2.0, 2.0, 0.5, 0.3),
    "tea": (1.0, 1.0, 1.0, 1.0, 1.0),
}
KEYS = ("vec", "text", "word", "ctx", "graph")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", INTENTS)
def test_a_weight_is_that_of_the_profile_times_that_of_the_intent(profile: str, text: str):
    weights = tuple(dial(key, text, profile=profile) for key in KEYS)
    assert weights == tuple(p * i for p, i in zip(PROFILES[profile], INTENTS[text], strict=True))


def test_an_unknown_or_missing_profile_means_the_default():
    assert dial("vec", profile="astrology") == dial("vec") == 1.0


def test_profile_and_intent_weigh_the_channels():
    world = World(memory("m1", "tea", vector=EAST), memory("m2", "tea cup", vector=NORTH))
    ranking = world.rank("omega", "which tea river lake", vector=EAST, context={"profile": "decision"})
    fused = step(ranking, "fuse")
    assert fused is not None
    assert fused.reads["vector.weight"][0] == 0.8 * 0.3
    assert fused.reads["text.weight"][0] == 0.6 * 1.5
    assert fused.reads["temporal.weight"][0] == 1.2


# --- phase 1: fast path and hot cache --------------------------------------------------------------

FAST = "fix get_user_name bug parser"


def test_the_fast_path_answers_with_the_jaccard_of_the_trigrams_alone():
    world = World(
        memory("m1", "Fix get_user_name bug: parser!", kind="constraint"),
        memory("m2", "get_user_name is a function of the parser that has a bug we should fix some day"),
    )
    ranking = world.rank("omega", FAST)
    assert ranking.ids == ("m1",)
    normal = "fix get user name bug parser"
    assert ranking.scores == (jaccard(normal, normal),) == (1.0,)
    assert ranking.sheet.facts["shortcut"] == "trigram"
    nearly = World(memory("m1", "fix get_user_name bug parsers"))
    assert nearly.rank("omega", FAST).scores == (digits12(jaccard(normal, normal + "s")),)


def test_below_a_jaccard_of_0_60_there_is_no_fast_path():
    assert jaccard("fix get user name bug parser", "get user name") < 0.60
    world = World(memory("m1", "get_user_name"))
    assert "shortcut" not in world.rank("omega", FAST).sheet.facts


def test_the_fast_path_needs_keywords_and_five_trigrams():
    plain = World(memory("m1", "fix the parser bug today please"))
    assert plain.rank("omega", "fix the parser bug today please").sheet.facts.get("shortcut") != "trigram"
    short = World(memory("m1", "a_bcd"))
    assert len(trigrams("a bcd")) < 5
    assert "shortcut" not in short.rank("omega", "a_bcd").sheet.facts


@pytest.mark.parametrize(
    ("fields", "extra", "filters"),
    [
        ({"project": "other"}, (), {"project": "mine"}),
        ({"session": "s2"}, (), {"session": "s1"}),
        ({"expires_at": NOW}, (), {}),
        ({}, (Forgotten(id="m1"),), {}),
        ({}, (outdated("m1"), outdated("m1")), {}),
        ({"kind": "code_chunk"}, (), {}),
    ],
    ids=["project", "session", "expired", "forgotten", "flagged", "infrastructure"],
)
def test_filters_hold_on_the_fast_path(fields: dict, extra: tuple, filters: dict):
    world = World(memory("m1", FAST, **fields), *used("m1"), *extra)
    assert world.rank("omega", FAST, filters=filters).ids == ()
    assert World(memory("m1", FAST), *used("m1")).rank("omega", FAST).ids == ("m1",)


def test_the_hot_cache_is_the_50_most_accessed_and_seeds_at_0_8_of_the_overlap():
    world = World(*(memory(f"m{n:02d}", "tea cup moon", kind="test") for n in range(60)))
    for n in range(60):
        world.tell(*used(f"m{n:02d}", n))
    ranking = world.rank("omega", "tea cup river lake", k=60)
    assert set(column(world, ranking, "hot")) == {f"m{n:02d}" for n in range(10, 60)}
    assert column(world, ranking, "hot")["m59"] == 59
    raised = after(world, ranking, "raise")
    assert raised["m59"] == 0.8 * (2 / 4)  # more than a test's 0.4 leaves of the fused score
    assert raised["m05"] < 0.8 * (2 / 4)


def test_a_hot_memory_needs_an_overlap_of_0_4():
    world = World(memory("m1", "tea cup", kind="test"), *used("m1"))
    ranking = world.rank("omega", "tea river lake", k=10)
    assert column(world, ranking, "word_overlap")["m1"] == 1 / 3
    assert column(world, ranking, "hot_relevance") == {}


# --- phases 2 to 4: channels -----------------------------------------------------------------------


def test_the_vector_channel_takes_5_per_hit_but_20_at_least_from_a_cosine_of_0_1():
    world = World(*(memory(f"m{n:02d}", f"w{n}", vector=vector(100, n, 0)) for n in range(40)))
    world.tell(memory("far", "far", vector=vector(5, 100, 0)))
    assert cosine(EAST, vector(5, 100, 0)) < 0.1
    found = [len(column(world, world.rank("omega", "x", vector=EAST, k=k), "vector")) for k in (1, 4, 6, 50)]
    assert found == [20, 20, 30, 40]


def test_a_navigational_question_searches_no_vectors():
    world = World(memory("m1", "tea", vector=EAST))
    assert column(world, world.rank("omega", "tea_cup", vector=EAST), "vector") == {}
    assert column(world, world.rank("omega", "cup", vector=EAST), "vector") == {"m1": 1.0}


def test_text_relevance_blends_bm25_from_0_1_to_1_with_the_share_of_words():
    world = World(
        memory("m1", "tea cup", vector=None),
        memory("m2", "tea and a long text about many other things", vector=None),
        memory("m3", "moon", vector=None),
    )
    ranking = world.rank("omega", "tea cup shelf")
    assert column(world, ranking, "bm25") == {"m1": 1.0, "m2": pytest.approx(0.1, abs=1e-15)}
    relevance = column(world, ranking, "text_relevance")
    assert relevance["m1"] == 0.7 * 1.0 + 0.3 * (2 / 3)
    assert relevance["m2"] == pytest.approx(0.7 * 0.1 + 0.3 * (1 / 3), abs=1e-15)


def test_a_single_text_hit_has_a_bm25_of_1():
    world = World(memory("m1", "tea", vector=None))
    assert column(world, world.rank("omega", "tea"), "bm25") == {"m1": 1.0}


def test_the_text_channel_leaves_out_stop_words_and_short_words():
    world = World(memory("m1", "the cat content", vector=None), memory("m2", "tea of it", vector=None))
    assert column(world, world.rank("omega", "the tea of it"), "keywords").keys() == {"m2"}
    assert column(world, world.rank("omega", "the"), "keywords").keys() == {"m1"}


def test_texts_of_any_script_are_found():
    world = World(
        memory("m1", "会議は東京で行われた", vector=None),
        memory("m2", "دفتر در تهران است", vector=None),
        memory("m3", "встреча в Москве", vector=None),
    )
    assert world.rank("omega", "東京").ids == ("m1",)
    assert world.rank("omega", "تهران").ids == ("m2",)
    assert world.rank("omega", "Москве").ids == ("m3",)


def test_the_best_3_texts_per_hit_go_into_the_fusion():
    world = World(*(memory(f"m{n:02d}", "tea " + "pad " * n, vector=None) for n in range(20)))
    ranking = world.rank("omega", "tea", k=2)
    assert len(column(world, ranking, "keywords")) == 9 * 2
    assert sorted(column(world, ranking, "text.rank").values()) == [1, 2, 3, 4, 5, 6]


def test_the_temporal_channel_falls_with_the_distance_from_the_range():
    midnight = NOW - NOW % DAY
    world = World(
        memory("in", "x", at=midnight - DAY // 2, vector=None),
        memory("before", "x", at=midnight - 3 * DAY // 2 - 1, vector=None),
        memory("after", "x", at=midnight + DAY // 2, vector=None),
        memory("far", "x", at=midnight - 9 * DAY, vector=None),
        memory("dated", "x", at=midnight - 9 * DAY, valid_from=midnight - DAY, vector=None),
    )
    found = column(world, world.rank("omega", "what happened yesterday"), "temporal")
    assert found == {
        "in": 1.0,
        "dated": 1.0,
        "before": 1.0 / (1.0 + (DAY // 2 + 1) / DAY / 1.0),
        "after": 1.0 / (1.0 + (DAY // 2 + 1) / DAY / 1.0),
    }


def test_a_question_without_a_time_has_no_temporal_channel():
    world = World(memory("m1", "x"))
    assert column(world, world.rank("omega", "what happened"), "temporal") == {}


def test_the_temporal_channel_gives_3_per_hit_and_weighs_1_2():
    world = World(*(memory(f"m{n}", f"w{n}", at=NOW - n * DAY // 100, vector=None) for n in range(9)))
    ranking = world.rank("omega", "today", k=2)
    assert sorted(column(world, ranking, "temporal.rank").values()) == [1, 2, 3, 4, 5, 6]
    assert after(world, ranking, "fuse")["m0"] == 1.2 / 1.2


# --- phase 5: the strong signal --------------------------------------------------------------------


def test_a_strong_text_signal_skips_fusion_metadata_graph_and_reranking():
    world = World(
        memory("m1", "copper kettle", kind="test", tags=("stove",)),
        memory("m2", "kettle and many other words in a long text", kind="constraint", vector=None),
        memory("m3", "elsewhere", vector=UP),
        Linked(a="m1", b="m3", kind="related"),
    )
    ranking = world.rank("omega", "copper kettle", vector=EAST, context={"tags": ["stove"]})
    assert ranking.sheet.facts["shortcut"] == "text_relevance"
    relevance = column(world, ranking, "text_relevance")
    assert relevance["m1"] == 0.7 * 1.0 + 0.3 * 1.0
    assert relevance["m1"] - relevance["m2"] >= 0.15
    assert step(ranking, "fuse") is None
    assert step(ranking, "type_weight") is None
    assert column(world, ranking, "graph") == {}
    assert ranking.sheet.wanted == ()
    boosted = {"m1": relevance["m1"] * (1 + 1 * 0.10), "m2": relevance["m2"]}
    assert dict(zip(ranking.ids, ranking.scores, strict=True)) == {
        id_: digits12(score / boosted["m1"]) for id_, score in boosted.items()
    }


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["copper kettle"], "copper kettle"),  # one hit alone
        (["copper kettle", "copper kettle pan"], "copper kettle"),  # no gap: both hold both words
        (["copper", "kettle tea"], "copper kettle river lake sea"),  # the best is too weak
    ],
)
def test_without_two_hits_a_gap_of_0_15_and_0_85_there_is_no_strong_signal(texts: list[str], question: str):
    facts = [memory(f"m{n}", text, vector=None) for n, text in enumerate(texts)]
    if "copper kettle pan" in texts:
        facts.append(memory("m9", "kettle and many other words in a long text about nothing", vector=None))
    assert "shortcut" not in World(*facts).rank("omega", question).sheet.facts


def test_a_navigational_question_has_no_strong_signal():
    world = World(memory("m1", "copper_kettle works fine today"), memory("m2", "kettle " + "pad " * 30))
    assert "shortcut" not in world.rank("omega", "copper_kettle").sheet.facts


# --- phase 6, group 21: expansions -----------------------------------------------------------------


def expansions(*pairs: tuple[str, bytes | None]) -> dict:
    return {"effects": Effects(expansions=tuple(Expansion(text=t, vector=v) for t, v in pairs))}


def test_rewritings_count_0_8_and_the_larger_value_counts():
    world = World(memory("m1", "river", vector=EAST), memory("m2", "lake", vector=NORTH))
    asked = {"text": "explain river", "vector": EAST, **expansions(("explain lake", NORTH))}
    ranking = world.rank("omega", **asked)
    assert column(world, ranking, "vector") == {"m1": 1.0, "m2": 0.8}
    assert column(world, ranking, "vector.rank") == {"m1": 1, "m2": 2}
    alone = column(world, world.rank("omega", "explain lake", vector=NORTH), "keywords")["m2"]
    assert column(world, ranking, "keywords")["m2"] == alone * 0.8


def test_two_rewritings_are_searched_by_words_and_one_by_meaning():
    world = World(*(memory(n, n, vector=v) for n, v in (("one", EAST), ("two", NORTH), ("three", UP))))
    effects = expansions(("one", EAST), ("two", NORTH), ("three", UP))
    ranking = world.rank("omega", "explain nothing", vector=vector(-1, -1, -1), **effects)
    assert column(world, ranking, "keywords").keys() == {"one", "two"}
    assert column(world, ranking, "vector").keys() == {"one"}


def test_only_conceptual_questions_without_rewritings_want_rewritings():
    world = World(memory("m1", "river"))
    assert world.rank("omega", "explain river").sheet.expansions_wanted
    for text in ("which river", "river", "river_bed"):
        assert not world.rank("omega", text).sheet.expansions_wanted
    assert not world.rank("omega", "explain river", **expansions()).sheet.expansions_wanted


# --- phase 7, groups 1, 2 and 6: fusion ------------------------------------------------------------


def test_each_channel_is_normalised_before_and_the_sum_after_weighing():
    world = World(
        memory("m1", "tea cup", vector=vector(10, 4, 0)),
        memory("m2", "tea cup saucer", vector=EAST),
        memory("m3", "moon", vector=vector(10, 2, 0)),
    )
    ranking = world.rank("omega", "tea cup river lake sea", vector=EAST)
    assert column(world, ranking, "vector.rank") == {"m2": 1, "m3": 2, "m1": 3}
    assert column(world, ranking, "text.rank") == {"m1": 1, "m2": 2}
    share = {1: 1.0, 2: (1 / 62) / (1 / 61), 3: (1 / 63) / (1 / 61)}
    combined = {"m1": share[3] + share[1], "m2": share[1] + share[2], "m3": share[2]}
    assert after(world, ranking, "fuse") == {
        id_: pytest.approx(score / max(combined.values()), abs=1e-15) for id_, score in combined.items()
    }


# --- phase 8: metadata -----------------------------------------------------------------------------

TYPE_WEIGHTS = {
    "constraint": 3.0, "reminder": 3.0, "checkpoint": 2.5, "decision": 2.0, "lesson_learned": 2.0,
    "error_pattern": 2.0, "user_preference": 2.0, "contradiction_detected": 2.0, "skill_template": 2.0,
    "advisor_insight": 1.5, "public_statement": 1.5, "outcome_resolution": 1.5, "task_completion": 1.4,
    "sota_research": 1.4, "reflexion": 1.3, "outcome_evaluation": 1.3, "self_reflection": 1.3,
    "research_report": 1.3, "benchmark_update": 1.3, "session_summary": 1.2, "preference_generated": 1.1,
    "advisor_action_outcome": 1.1, "sota_scan": 1.1, "file_conflict": 1.0, "entity_profile_update": 1.0,
    "merge_claim": 0.8, "merge_release": 0.8, "file_claimed": 0.7, "file_released": 0.7, "branch_claimed": 0.7,
    "branch_released": 0.7, "session_respawn": 0.5, "test": 0.4, "coordination_snapshot": 0.2,
    "code_chunk": 0.1, "file_summary": 0.05, "note": 1.0,
}  # fmt: skip
PRIORITIES = {
    "constraint": 5, "checkpoint": 5, "reminder": 5, "user_preference": 5, "error_pattern": 4,
    "lesson_learned": 4, "decision": 4, "skill_template": 4, "task_completion": 3, "reflexion": 3,
    "outcome_evaluation": 3, "self_reflection": 3, "sota_research": 3, "research_report": 3,
    "advisor_insight": 3, "session_summary": 2, "coordination_snapshot": 1, "session_respawn": 1,
    "file_summary": 1, "code_chunk": 1, "note": 3,
}  # fmt: skip
DECAYS_PER_DAY = {
    "constraint": 0.0, "user_preference": 0.0, "error_pattern": 0.0, "reminder": 0.0, "lesson_learned": 0.005,
    "skill_template": 0.01, "advisor_insight": 0.015, "decision": 0.015, "task_completion": 0.015,
    "checkpoint": 0.02, "memory": 0.02, "session_summary": 0.05, "coordination_snapshot": 0.10, "note": 0.02,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "table"),
    [("type_weight", TYPE_WEIGHTS), ("default_priority", PRIORITIES), ("decay_per_day", DECAYS_PER_DAY)],
)
def test_every_row_of_the_tables_by_kind(name: str, table: dict[str, float]):
    world = World(*(memory(kind, "tea", kind=kind.upper()) for kind in table))
    ranking = world.rank("omega", "tea", k=60)
    assert column(world, ranking, name) == table


def test_metadata_multiplies_the_fused_score():
    world = World(
        memory("m1", "tea", kind="lesson_learned", vector=None, at=NOW - 100 * DAY, priority=5),
        memory("m2", "tea", kind="note", vector=None),
        Rated(id="m1", verdict="unhelpful", at=NOW),
    )
    ranking = world.rank("omega", "tea")
    fused = after(world, ranking, "fuse")
    assert after(world, ranking, "type_weight")["m1"] == fused["m1"] * 2.0
    assert after(world, ranking, "feedback_factor")["m1"] == fused["m1"] * 2.0 * (1.0 - 1 * 0.2)
    priced = fused["m1"] * 2.0 * (1.0 - 1 * 0.2) * (0.7 + 5 * 0.08)
    assert after(world, ranking, "priority_factor")["m1"] == priced
    assert after(world, ranking, "floored_decay")["m1"] == priced * exp(-0.005 * 100)


def test_thompson_learns_from_the_verdicts_on_a_kind_up_to_the_seq_asked_at():
    world = World(
        memory("m1", "tea", kind="tip"), memory("m2", "tea", kind="tip"), memory("m3", "tea", kind="fact")
    )
    before = world.tell(*helpful("m1", 3), Rated(id="m2", verdict="unhelpful", at=NOW))
    world.tell(outdated("m2"), *helpful("m3", 9))

    def boosts(at: int | None = None) -> dict[str, float]:
        return column(world, world.rank("omega", "tea", at=at), "thompson_boost")

    assert boosts(before) == {"m1": 1.0, "m2": 1.0, "m3": 1.0}  # four verdicts are too few
    assert boosts() == {
        "m1": 0.8 + 0.4 * ((1 + 3) / (2 + 5)),
        "m2": 0.8 + 0.4 * ((1 + 3) / (2 + 5)),
        "m3": 0.8 + 0.4 * ((1 + 9) / (2 + 9)),
    }


def test_consolidation_quality_counts_what_a_memory_was_derived_from():
    world = World(*(memory(f"m{n}", "tea") for n in range(6)))
    world.tell(*(Linked(a="m0", b=f"m{n}", kind="derived_from") for n in range(1, 6)))
    world.tell(Linked(a="m1", b="m2", kind="related"))
    found = column(world, world.rank("omega", "tea"), "consolidation_quality")
    assert found == {"m0": 1.0 + 3.0 * 0.1, **{f"m{n}": 1.0 for n in range(1, 6)}}


# --- phase 9, groups 12 and 13 ---------------------------------------------------------------------


def test_word_overlap_counts_text_and_tags_by_stems_and_whole_words():
    world = World(
        memory("m1", "deployment went fine", tags=("Staging",)),
        memory("m2", "the whole category"),
        Rated(id="m1", verdict="unhelpful", at=NOW),
    )
    ranking = world.rank("omega", "deployed staging cat who", vector=EAST)
    assert column(world, ranking, "word_ratio") == {"m1": 1 / 4, "m2": 0 / 4}
    assert column(world, ranking, "word_overlap") == {"m1": 2 / 4, "m2": 0 / 4}
    factual = 1.8  # `who` makes the question factual
    boost = column(world, ranking, "word_overlap_boost")["m1"]
    assert boost == 1.0 + (2 / 4) * 0.5 * 0.5 * factual


def test_preferences_are_lifted_when_the_question_asks_for_one():
    world = World(memory("m1", "dark mode", kind="user_preference"), memory("m2", "dark mode"))
    asked = column(world, world.rank("omega", "dark mode by default"), "preference_boost")
    assert asked == {"m1": 1.5, "m2": 1.0}
    assert column(world, world.rank("omega", "dark mode"), "preference_boost") == {"m1": 1.0, "m2": 1.0}


# --- phase 10: filters -----------------------------------------------------------------------------

INFRASTRUCTURE = ("file_summary", "code_chunk", "session_respawn", "coordination_snapshot", "session_summary")


@pytest.mark.parametrize("kind", INFRASTRUCTURE)
def test_infrastructure_is_left_out_unless_it_is_asked_for(kind: str):
    world = World(memory("m1", "tea cup", kind=kind), memory("m2", "tea cup"))
    assert world.rank("omega", "tea cup").ids == ("m2",)
    asked = world.rank("omega", "tea cup", filters={"kinds": [kind]})
    assert after(world, asked, "type_weight") == {"m1": TYPE_WEIGHTS[kind]}


def test_a_memory_is_flagged_from_a_feedback_of_minus_3():
    world = World(memory("m1", "tea cup"), outdated("m1"))
    assert world.rank("omega", "tea cup").ids == ("m1",)
    world.tell(Rated(id="m1", verdict="unhelpful", at=NOW))
    assert world.rank("omega", "tea cup").ids == ()


# --- phase 11, groups 16 and 22 --------------------------------------------------------------------


def test_context_counts_tags_project_and_up_to_three_names_of_files():
    world = World(
        memory("m1", "login.py in src auth login", tags=("Auth", "api"), project="shop"),
        memory("m2", "login"),
        memory("m3", "authority"),
    )
    context = {"files": ["/src/auth/login.py"], "tags": ["api"], "project": "Shop", "surface": "FILE_EDIT"}
    ranking = world.rank("omega", "login authority", context=context)
    # names: login, login.py, src, auth, api
    assert column(world, ranking, "context") == {"m1": 4, "m2": 1, "m3": 0}
    boosts = column(world, ranking, "contextual_boost")
    assert boosts == {
        "m1": 1.0 + (2 * 0.10 + 1 * 0.15 + 3 * 0.05) * 2.0,
        "m2": 1.0 + (0 * 0.10 + 0 * 0.15 + 1 * 0.05) * 2.0,
        "m3": 1.0,
    }


def test_a_near_cluster_lifts_its_members():
    centroid = vector(8, 6, 0)
    world = World(
        memory("m1", "tea", vector=NORTH),
        memory("m2", "tea", vector=NORTH),
        Clustered(method="x", clusters=(Cluster(name="c", centroid=centroid, members=("m1",)),)),
    )
    found = column(world, world.rank("omega", "tea", vector=EAST), "cluster_boost")
    assert found == {"m1": 1.0 + (cosine(EAST, centroid) - 0.5) * 0.33, "m2": 1.0}


def test_time_multiplies_by_1_3_or_0_85_from_words_and_0_15_or_0_70_from_the_caller():
    world = World(
        memory("in", "tea", at=NOW - DAY),
        memory("out", "tea", at=NOW - 60 * DAY),
        memory("dated", "tea", at=NOW - DAY, valid_from=NOW - 60 * DAY),
    )
    words = column(world, world.rank("omega", "tea in the last 3 days"), "temporal_fit")
    assert words == {"in": 1.3, "out": 0.85, "dated": 0.85}
    given = {"since": NOW - 3 * DAY, "until": NOW}
    hard = column(world, world.rank("omega", "tea", context=given), "temporal_fit")
    assert hard == {"in": 1.3, "out": 0.70, "dated": 0.15}
    open_ended = column(world, world.rank("omega", "tea", context={"since": NOW - 3 * DAY}), "temporal_fit")
    assert open_ended == hard
    assert set(column(world, world.rank("omega", "tea"), "temporal_fit").values()) == {1.0}


# --- phase 12, groups 14 and 15 --------------------------------------------------------------------


def linked(*facts: object, **fields: object) -> World:
    """A seed that is found, a neighbour at one hop, one at two, none of them near the question."""
    return World(
        memory("seed", "tea cup", kind="constraint", vector=None),
        memory("near", "moon", vector=None, **fields),
        memory("next", "star", vector=None),
        Linked(a="near", b="seed", kind="related", weight=0.5),
        Linked(a="near", b="next", kind="related", weight=7.0),
        *facts,
    )


def test_a_neighbour_gets_0_4_per_hop_of_the_seed_times_the_edge_and_the_dial():
    world = linked()
    ranking = world.rank("omega", "tea cup", context={"profile": "decision"})
    seed = after(world, ranking, "temporal_fit")["seed"]
    assert column(world, ranking, "graph") == {
        "near": seed * 0.4 * 0.5 * 2.0,
        "next": seed * 0.4 * 0.4 * 1.0 * 2.0,
    }


def test_light_edges_and_small_shares_are_not_followed():
    light = World(
        memory("a", "tea", vector=None), memory("b", "moon"), Linked(a="a", b="b", kind="x", weight=0.19)
    )
    assert column(light, light.rank("omega", "tea"), "graph") == {}
    weak = World(
        memory("a", "tea", kind="test", vector=None),
        memory("b", "moon"),
        Linked(a="a", b="b", kind="x", weight=0.3),
    )
    ranking = weak.rank("omega", "tea")
    assert after(weak, ranking, "temporal_fit")["a"] * 0.4 * 0.3 < 0.10
    assert column(weak, ranking, "graph") == {}


def test_only_the_best_five_are_seeds():
    world = World(*(memory(f"m{n}", "tea " + "pad " * n, vector=None) for n in range(6)))
    for n in range(6):
        world.tell(memory(f"x{n}", "moon", vector=None), Linked(a=f"m{n}", b=f"x{n}", kind="related"))
    ranking = world.rank("omega", "tea river lake sea", context={"profile": "decision"})
    reached = column(world, ranking, "graph")
    assert reached.keys() == {"x0", "x1", "x2", "x3", "x4"}


@pytest.mark.parametrize(
    ("fields", "extra", "filters"),
    [
        ({"project": "other"}, (), {"tags": ["t"]}),
        ({"expires_at": NOW}, (), {}),
        ({}, (Forgotten(id="near"),), {}),
        ({}, (outdated("near"), outdated("near")), {}),
        ({"kind": "code_chunk"}, (), {}),
    ],
    ids=["filtered", "expired", "forgotten", "flagged", "infrastructure"],
)
def test_filters_hold_after_graph_expansion(fields: dict, extra: tuple, filters: dict):
    def kept(world: World) -> set[str]:
        ranking = world.rank("omega", "tea cup", filters=filters)
        ids = world.projections.documents.ids.values
        return {ids[m] for m in ranking.sheet.memories[ranking.sheet.kept].tolist()}

    world = World(
        memory("seed", "tea cup", tags=("t",), vector=EAST),
        memory("near", "tea moon", vector=EAST, **fields),
        Linked(a="near", b="seed", kind="related"),
        *extra,
    )
    assert kept(world) == {"seed"}


def test_the_cross_encoder_weighs_15_30_and_50_percent_by_position():
    world = World(*(memory(f"m{n:02d}", "tea cup " + "pad " * n, vector=None) for n in range(25)))
    wanted = world.rank("omega", "tea cup", k=25).sheet
    ids = [world.projections.documents.ids.values[m] for m in wanted.memories[list(wanted.wanted)].tolist()]
    assert len(ids) == 20
    scores = {id_: float(n) for n, id_ in enumerate(ids)}
    effects = Effects(reranked=Reranked(model="x", scores=scores))
    ranking = world.rank("omega", "tea cup", k=25, effects=effects)
    before, found = after(world, ranking, "temporal_fit"), after(world, ranking, "rerank")
    for position, id_ in enumerate(ids, 1):
        weight = 0.15 if position <= 3 else 0.30 if position <= 10 else 0.50
        assert found[id_] == before[id_] * (1.0 + weight * ((position - 1.0) / 19.0))
    assert ranking.sheet.wanted == ()


# --- phase 13, groups 17, 19 and 23 ----------------------------------------------------------------

SURFACES = {
    "GENERAL": (0.50, 0.35, 0.10, 1.0),
    "ERROR_DEBUG": (0.40, 0.45, 0.08, 1.0),
    "FILE_EDIT": (0.50, 0.35, 0.10, 2.0),
    "SESSION_START": (0.45, 0.40, 0.10, 1.0),
    "PLANNING": (0.45, 0.40, 0.10, 1.5),
    "REVIEW": (0.45, 0.40, 0.10, 1.5),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_has_its_thresholds_in_any_letter_case(surface: str):
    for name in (surface, surface.lower()):
        found = tuple(dial(key, surface=name) for key in ("min_vec", "min_text", "min_composite", "ctx"))
        assert found == SURFACES[surface]
    assert dial("min_vec") == dial("min_vec", surface="elsewhere") == SURFACES["GENERAL"][0]


@pytest.mark.parametrize("surface", SURFACES)
def test_an_answer_needs_a_near_vector_or_enough_words(surface: str):
    _, min_text, _, _ = SURFACES[surface]
    world = World(
        memory("near", "moon", vector=EAST),
        memory("words", "red green blue grey and more", vector=None),
        memory("rival", "red green blue grey and less", vector=None),
        memory("neither", "red star", vector=UP),
    )
    ranking = world.rank("omega", "red green blue grey pink", vector=EAST, context={"surface": surface})
    overlaps = column(world, ranking, "word_overlap")
    assert overlaps["words"] == 4 / 5 >= min_text
    assert overlaps["neither"] == 1 / 5 < min_text
    assert set(ranking.ids) == {"near", "words", "rival"}


def test_the_cosine_must_reach_the_surfaces_minimum():
    between = vector(47, 88, 0)
    assert 0.45 < cosine(EAST, between) < 0.50
    world = World(memory("m1", "moon", vector=between))
    assert world.rank("omega", "tea", vector=EAST).ids == ()
    assert world.rank("omega", "tea", vector=EAST, context={"surface": "PLANNING"}).ids == ("m1",)


def test_a_composite_below_0_10_is_left_out_and_below_0_08_when_debugging():
    world = World(
        memory("best", "tea cup one", vector=None),
        memory("rival", "tea cup two", vector=None),
        memory("old", "tea cup or more", kind="code_chunk", vector=None, priority=5, at=NOW - 30 * DAY),
    )
    asked = {"filters": {"kinds": ["code_chunk", "note"]}, "text": "tea cup"}
    ranking = world.rank("omega", **asked)
    assert 0.08 <= after(world, ranking, "temporal_fit")["old"] < 0.10
    assert ranking.ids == ("best", "rival")
    assert world.rank("omega", **asked, context={"surface": "ERROR_DEBUG"}).ids == ("best", "rival", "old")


def test_nonsense_gets_an_empty_answer():
    world = World(memory("m1", "tea", vector=EAST), *used("m1"))
    assert world.rank("omega", "qwertz", vector=UP).ids == ()
    assert world.rank("omega", "").ids == ()


UNSURE = {"text": "tea cup plate", "vector": EAST}


def unsure(strong: bytes) -> World:
    """A weak hit that is kept, and a strong one that may be too far off."""
    return World(
        memory("weak", "tea", kind="test", vector=EAST, at=NOW - 20 * DAY),
        memory("strong", "moon", kind="constraint", vector=strong),
    )


def test_an_unsure_answer_is_tried_again_with_thresholds_times_0_6():
    between = vector(40, 92, 0)
    assert 0.50 * 0.6 < cosine(EAST, between) < 0.50
    world = unsure(between)
    ranking = world.rank("omega", **UNSURE)
    raw = after(world, ranking, "temporal_fit")
    assert 0.10 <= raw["weak"] < 0.3 < raw["strong"]
    assert ranking.ids == ("strong", "weak")
    assert ranking.sheet.facts["retry"] == "relaxed"


def test_a_second_try_that_is_no_better_does_not_count():
    outside = vector(25, 92, 0)
    assert cosine(EAST, outside) < 0.50 * 0.6
    ranking = unsure(outside).rank("omega", **UNSURE)
    assert ranking.ids == ("weak",)
    assert ranking.sheet.facts["retry"] == "no better"


def test_a_sure_answer_and_an_empty_one_are_not_tried_again():
    assert "retry" not in unsure(EAST).rank("omega", **UNSURE).sheet.facts
    assert "retry" not in World(memory("m1", "moon")).rank("omega", "tea", vector=UP).sheet.facts


def test_the_score_is_divided_by_the_largest():
    world = World(memory("m1", "tea cup", kind="constraint"), memory("m2", "tea cup plate", vector=None))
    ranking = world.rank("omega", "tea cup river lake sea", vector=EAST)
    raw = after(world, ranking, "temporal_fit")
    assert ranking.ids == ("m1", "m2")
    assert ranking.scores == (1.0, digits12(raw["m2"] / raw["m1"]))


def test_the_same_first_150_characters_are_shown_once_and_the_next_hit_moves_up():
    start = "tea cup " + "moon " * 30
    assert len(start) > 150
    world = World(
        memory("m1", start + "one", vector=None, kind="constraint"),
        memory("m2", start.upper() + "two", vector=None),
        memory("m3", "tea cup", vector=None),
    )
    assert set(world.rank("omega", "tea cup", k=2).ids) == {"m1", "m3"}


def test_of_two_memories_with_a_cosine_of_0_92_the_better_stays():
    twin, other = vector(100, 42, 0), vector(100, 43, 0)
    assert cosine(EAST, other) < 0.92 <= cosine(EAST, twin)
    near = World(memory("m1", "tea", kind="constraint", vector=EAST), memory("m2", "tea cup", vector=twin))
    assert near.rank("omega", "tea", vector=EAST).ids == ("m1",)
    apart = World(memory("m1", "tea", kind="constraint", vector=EAST), memory("m2", "tea cup", vector=other))
    assert apart.rank("omega", "tea", vector=EAST).ids == ("m1", "m2")


def test_duplicates_go_before_the_abstention_so_that_no_worse_twin_steps_in():
    far, near = vector(47, 88, 0), vector(53, 85, 0)
    assert cosine(EAST, far) < 0.50 <= cosine(EAST, near)
    assert cosine(far, near) >= 0.92
    better, worse = (
        memory("better", "moon", kind="constraint", vector=far),
        memory("worse", "star", vector=near),
    )
    assert World(worse).rank("omega", "tea", vector=EAST).ids == ("worse",)
    assert World(better, worse).rank("omega", "tea", vector=EAST).ids == ()
