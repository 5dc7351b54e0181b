"""memorysync: every factor, boost, table row and special case of its page, as the page's own arithmetic."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from small_world import HOUR, NOW, World, column, cosine, digits12, memory, vector, with_stage

from recollect.events.facts import (
    Accessed,
    Cluster,
    Clustered,
    EmbedderAdopted,
    Forgotten,
    Linked,
    Question,
    Recalled,
    Unlinked,
)
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in
from recollect.query.stages.ordering import TieBreak
from recollect.query.stages.scoring import Boost, Weigh

QUERY = vector(3, 1, 0)
DEFAULT = {"semantic": 0.40, "cluster": 0.20, "recency": 0.15, "importance": 0.15, "usage": 0.10}
TIE_BREAK = 1 + next(n for n, one in enumerate(built_in("memorysync").stages) if isinstance(one, TieBreak))
PLAIN = "tea"  # a question of no particular intent
NEAR, MIDDLE, FAR = vector(3, 1, 0), vector(1, 1, 0), vector(0, 1, 1)


def norm(value: float, values: list[float]) -> float:
    """Min-max over the batch; all alike: 1."""
    low, high = min(values), max(values)
    return 1.0 if low == high else (value - low) / (high - low)


def hybrid(factors: dict[str, dict[str, float]], id_: str, weights: dict[str, float] = DEFAULT) -> float:
    total = math.fsum(weights.values())
    return math.fsum(
        weights[name] / total * norm(factors[name][id_], list(factors[name].values())) for name in weights
    )


# --- the default formula -----------------------------------------------------------------------------


def test_the_default_weights_are_those_of_the_page_and_quality_decay_and_graph_are_0():
    (weigh,) = [stage for stage in built_in("memorysync").stages if isinstance(stage, Weigh)]
    assert weigh.weights == {**DEFAULT, "quality": 0.0, "decay": 0.0, "graph": 0.0}
    assert math.fsum(weigh.weights.values()) == 1.0


def test_the_hybrid_score_weighs_five_factors_that_are_scaled_to_the_batch():
    world = World(
        memory("a", vector=NEAR, at=NOW - 5 * HOUR, importance=0.2),
        memory("b", vector=MIDDLE, at=NOW - 50 * HOUR, importance=0.9),
        memory("c", vector=FAR, at=NOW - 500 * HOUR, importance=0.5),
        *[Accessed(ids=("b",), at=NOW)] * 4,
        Accessed(ids=("c",), at=NOW),
        Clustered(
            method="x",
            clusters=(
                Cluster(name="one", centroid=vector(1, 2, 0), members=("a", "b")),
                Cluster(name="two", centroid=vector(-1, 0, 1), members=("c",)),
            ),
        ),
    )
    factors = {
        "semantic": {"a": cosine(QUERY, NEAR), "b": cosine(QUERY, MIDDLE), "c": cosine(QUERY, FAR)},
        "cluster": {
            id_: (cosine(QUERY, vector(*centroid)) + 1) / 2
            for id_, centroid in (("a", (1, 2, 0)), ("b", (1, 2, 0)), ("c", (-1, 0, 1)))
        },
        "recency": {
            id_: math.exp(-hours * math.log(2) / 72) for id_, hours in (("a", 5), ("b", 50), ("c", 500))
        },
        "importance": {"a": 0.2, "b": 0.9, "c": 0.5},
        "usage": {id_: min(1.0, math.log(1 + n) / 5.0) for id_, n in (("a", 0), ("b", 4), ("c", 1))},
    }
    found = world.scores("memorysync", PLAIN, vector=QUERY)
    assert found == pytest.approx({id_: hybrid(factors, id_) for id_ in "abc"}, rel=1e-11)


def test_a_factor_that_is_the_same_for_all_counts_1():
    world = World(memory("only", importance=0.3))
    assert world.scores("memorysync", PLAIN, vector=QUERY) == {"only": 1.0}


def test_the_same_memory_scores_differently_in_another_batch():
    pair = [memory("a", vector=NEAR), memory("b", vector=MIDDLE)]
    small = World(*pair).scores("memorysync", PLAIN, vector=QUERY)
    large = World(*pair, memory("c", vector=FAR)).scores("memorysync", PLAIN, vector=QUERY)
    assert small["b"] < large["b"]


# --- each factor -------------------------------------------------------------------------------------


def test_semantic_is_one_minus_the_clamped_distance():
    away = vector(-1, 0, 0)
    world = World(memory("near", vector=NEAR), memory("mid", vector=MIDDLE), memory("away", vector=away))
    semantic = column(world, world.rank("memorysync", PLAIN, vector=QUERY), "semantic")
    for id_, point in (("near", NEAR), ("mid", MIDDLE), ("away", away)):
        distance = 1.0 - cosine(QUERY, point)
        assert semantic[id_] == pytest.approx(1.0 - min(max(distance, 0.0), 1.0), abs=1e-15)
    assert semantic["away"] == 0.0


@pytest.mark.parametrize(
    ("text", "intent", "half_life"),
    [("what changed today", "high", 24), (PLAIN, "medium", 72), ("explain the basics", "low", 168)],
)
def test_recency_halves_every_24_72_or_168_hours_by_intent(text: str, intent: str, half_life: int):
    world = World(memory("new"), memory("old", at=NOW - half_life * HOUR), memory("m", at=NOW - 10 * HOUR))
    ranking = world.rank("memorysync", text, vector=QUERY)
    recency = column(world, ranking, "recency")
    assert ranking.sheet.facts["recency_intent"] == intent
    assert recency["old"] == pytest.approx(0.5, rel=1e-15)
    assert recency["m"] == math.exp(-10 * math.log(2) / half_life)
    assert recency["new"] == 1.0


def test_importance_defaults_to_one_half():
    world = World(memory("m"), memory("n", importance=1.0))
    norms = column(world, world.rank("memorysync", PLAIN, vector=QUERY), "importance_norm")
    assert norms == {"m": (0.5 - 0.5) / (1.0 - 0.5), "n": 1.0}


@pytest.mark.parametrize("count", [0, 1, 5, 147, 148])
def test_usage_is_logarithmic_and_at_most_1(count: int):
    world = World(memory("m"), *[Accessed(ids=("m",), at=NOW)] * count)
    usage = column(world, world.rank("memorysync", PLAIN, vector=QUERY), "usage")
    assert usage == {"m": min(1.0, math.log(1 + count) / 5.0)}
    assert (usage["m"] == 1.0) == (count >= 148)


def test_cluster_is_the_cosine_with_the_centroid_mapped_to_0_and_1():
    world = World(
        memory("in", vector=NEAR),
        memory("opposite", vector=NEAR),
        memory("alone", vector=MIDDLE),
        Clustered(
            method="x",
            clusters=(
                Cluster(name="one", centroid=FAR, members=("in",)),
                Cluster(name="two", centroid=vector(-3, -1, 0), members=("opposite",)),
            ),
        ),
    )
    cluster = column(world, world.rank("memorysync", PLAIN, vector=QUERY), "cluster")
    assert cluster == {
        "in": (cosine(QUERY, FAR) + 1) / 2,
        "opposite": (-1.0 + 1) / 2,
        "alone": (cosine(QUERY, MIDDLE) + 1) / 2,  # a cluster of one
    }


def test_clusters_of_an_embedder_that_was_replaced_do_not_count():
    clusters = Clustered(method="x", clusters=(Cluster(name="one", centroid=FAR, members=("m",)),))
    world = World(memory("m", vector=NEAR), clusters)
    world.tell(EmbedderAdopted(name="other", dimensions=3, probe=FAR), memory("m", vector=MIDDLE))
    cluster = column(world, world.rank("memorysync", PLAIN, vector=QUERY), "cluster")
    assert cluster == {"m": (cosine(QUERY, MIDDLE) + 1) / 2}


def test_quality_decay_and_graph_are_computed_and_can_be_opted_in():
    world = World(
        memory("a", trust=0.2, at=NOW - 48 * HOUR), memory("b", trust=0.9), Linked(a="a", b="b", kind="odd")
    )
    ranking = world.rank("memorysync", PLAIN, vector=QUERY)
    assert column(world, ranking, "quality_norm") == {"a": 0.0, "b": 1.0}
    assert column(world, ranking, "decay") == {"a": math.exp(-2 / 30), "b": 1.0}
    assert column(world, ranking, "graph") == {"a": math.log(2) / 5, "b": math.log(2) / 5}
    given = {"weights": {"quality": 3.0, "decay": 1.0}}
    assert world.scores("memorysync", PLAIN, vector=QUERY, context=given) == {"b": 1.0, "a": 0.0}


# --- weights -----------------------------------------------------------------------------------------


def test_weights_of_the_caller_are_scaled_to_1_and_replace_the_profile():
    world = World(memory("a", vector=NEAR, importance=0.1), memory("b", vector=FAR, importance=0.9))
    given = {"weights": {"semantic": 3.0, "importance": 1.0}}
    assert world.scores("memorysync", "why", vector=QUERY, context=given) == {
        "a": 3 / (3 + 1) * 1.0 + 1 / (3 + 1) * 0.0,
        "b": 3 / (3 + 1) * 0.0 + 1 / (3 + 1) * 1.0,
    }


@pytest.mark.parametrize(
    ("text", "intent", "more"),
    [
        ("who wrote it", "factual", {"semantic": 0.10}),
        ("what happened today", "recent", {"recency": 0.15}),
        ("why did it break", "analytical", {"graph": 0.10}),
        ("my favourite colour", "preference", {"importance": 0.10}),
        (PLAIN, "hybrid", {}),
    ],
)
def test_without_weights_the_intent_adds_to_the_default_profile(
    text: str, intent: str, more: dict[str, float]
):
    world = World(memory("m"))
    ranking = world.rank("memorysync", text, vector=QUERY)
    weigh = next(n for n, stage in enumerate(built_in("memorysync").stages) if isinstance(stage, Weigh))
    (reads,) = [step.reads for step in ranking.sheet.steps if step.stage == weigh]
    total = 1.0 + sum(more.values())
    for name in (*DEFAULT, "graph", "quality", "decay"):
        expected = (DEFAULT.get(name, 0.0) + more.get(name, 0.0)) / total
        assert reads[f"{name}.weight"][0] == pytest.approx(expected, rel=1e-15)
    assert ranking.sheet.facts["intent"] == intent


# --- the variance floor ------------------------------------------------------------------------------


def tied(*memories: tuple[str, bytes, float, int]) -> World:
    return World(*(memory(id_, vector=p, importance=i, at=NOW - h * HOUR) for id_, p, i, h in memories))


def test_below_a_deviation_of_0_02_the_chain_decides_semantic_importance_recency_id():
    world = tied(
        ("a", MIDDLE, 0.5, 1), ("b", NEAR, 0.1, 9), ("c", MIDDLE, 0.9, 9), ("d", MIDDLE, 0.5, 0),
        ("e", MIDDLE, 0.5, 1),
    )  # fmt: skip
    flat = {"weights": {"usage": 1.0}}  # nothing was used: every hybrid score is 1
    ranking = world.rank("memorysync", PLAIN, vector=QUERY, context=flat)
    assert ranking.ids == ("b", "c", "d", "e", "a")
    assert ranking.scores == (1.0,) * 5
    assert ranking.sheet.facts["tiebreak_applied"] == "true"


def test_above_it_the_score_decides_and_says_so():
    world = tied(("a", NEAR, 0.5, 1), ("b", FAR, 0.5, 1))
    ranking = world.rank("memorysync", PLAIN, vector=QUERY)
    assert ranking.ids == ("a", "b")
    assert ranking.sheet.facts["tiebreak_applied"] == "false"


@pytest.mark.parametrize(("apart", "fires"), [(0.0398, "true"), (0.0402, "false")])
def test_the_floor_is_a_standard_deviation_of_0_02(apart: float, fires: str):
    """Two scores that lie δ apart have the (population's) standard deviation δ / 2."""
    world = tied(("a", FAR, 0.9, 1), ("b", FAR, 0.1, 1))
    given = {"weights": {"importance": apart, "usage": 1.0 - apart}}
    ranking = world.rank("memorysync", PLAIN, vector=QUERY, context=given)
    assert ranking.scores == (1.0, digits12(1.0 - apart))
    assert ranking.sheet.facts["tiebreak_applied"] == fires


def test_the_floor_looks_at_the_hybrid_score_before_the_boosts():
    world = tied(("a", NEAR, 0.5, 1), ("b", FAR, 0.5, 1))
    context = {"weights": {"usage": 1.0}, "tags": ["liked"]}
    world.tell(memory("c", vector=MIDDLE, tags=("liked",)))
    ranking = world.rank("memorysync", PLAIN, vector=QUERY, context=context)
    assert list(zip(ranking.ids, ranking.scores, strict=True)) == [("a", 1.0), ("c", 1.05), ("b", 1.0)]


def test_a_lone_candidate_has_no_deviation_and_says_so():
    ranking = World(memory("m")).rank("memorysync", PLAIN, vector=QUERY)
    assert ranking.sheet.facts["tiebreak_applied"] == "true"
    assert (
        World(memory("m", vector=None))
        .rank("memorysync", PLAIN, vector=QUERY)
        .sheet.facts["tiebreak_applied"]
        == "false"
    )
    before = with_stage(built_in("memorysync"), TIE_BREAK, lone=msgspec.UNSET)
    assert World(memory("m")).rank(before, PLAIN, vector=QUERY).sheet.facts["tiebreak_applied"] == "false"


def test_the_answer_shows_whether_the_tie_break_fired(tmp_path: Path):
    with Memory.open(tmp_path, embedder="hash", formula="memorysync", clock=lambda: NOW) as store:
        store.remember("red tea", id="a")
        store.remember("red tea", id="b")
        answer = store.recall("red tea", session="s")
        assert answer.facts["tiebreak_applied"] == "true"
        assert [hit.id for hit in answer.hits] == ["b", "a"], "ids from the end"
        assert store.verify().exact
        assert store.verify(independent=True).exact


# --- boosts ------------------------------------------------------------------------------------------

EDGES = {
    "supports": 0.08,
    "extends": 0.07,
    "continuation": 0.06,
    "detail_of": 0.05,
    "summary_of": 0.04,
    "similar": 0.03,
    "references": 0.03,
    "derived_from": 0.02,
    "caused_by": 0.02,
    "contradiction": 0.01,
}


@pytest.mark.parametrize("kind", EDGES)
def test_a_memory_that_an_edge_leads_to_is_boosted_by_its_kind(kind: str):
    plain = World(memory("a", vector=NEAR), memory("b", vector=FAR))
    linked = World(memory("a", vector=NEAR), memory("b", vector=FAR), Linked(a="a", b="b", kind=kind))
    before, after = (w.scores("memorysync", PLAIN, vector=QUERY) for w in (plain, linked))
    assert after == pytest.approx({"a": before["a"], "b": before["b"] + EDGES[kind]}, rel=1e-12)


def test_the_table_of_boosts_has_no_other_edge():
    (edges, *_) = [stage for stage in built_in("memorysync").stages if isinstance(stage, Boost)]
    assert edges.amounts == {f"edge.{kind}": amount for kind, amount in EDGES.items()}


def test_two_kinds_of_edges_are_both_counted_and_an_unknown_one_is_not():
    facts = [memory("a", vector=NEAR), memory("b", vector=FAR)]
    edges = [Linked(a="a", b="b", kind=kind) for kind in ("supports", "similar", "odd")]
    before, after = (
        w.scores("memorysync", PLAIN, vector=QUERY) for w in (World(*facts), World(*facts, *edges))
    )
    assert after["b"] - before["b"] == pytest.approx(0.08 + 0.03, rel=1e-12)
    gone = World(*facts, *edges, Unlinked(a="a", b="b"))
    assert gone.scores("memorysync", PLAIN, vector=QUERY) == before


CHAIN = [memory("seed")] + [memory(f"hop{n}", vector=None) for n in (1, 2, 3, 4)]
LINKS = [Linked(a=a.id, b=b.id, kind="extends") for a, b in pairwise(CHAIN)]


@pytest.mark.parametrize(("asked", "hops"), [(None, 2), (1, 1), (2, 2), (3, 3), (9, 3), (0, 1)])
def test_traversal_goes_two_hops_or_as_many_as_asked_from_one_to_three(asked: int | None, hops: int):
    ranking = World(*CHAIN, *LINKS).rank("memorysync", PLAIN, vector=QUERY, context={"depth": asked})
    assert set(ranking.ids) == {"seed"} | {f"hop{n}" for n in range(1, hops + 1)}


def test_an_edge_is_not_walked_back():
    world = World(*CHAIN, *LINKS)
    ranking = world.rank("memorysync", PLAIN, vector=QUERY)
    assert column(world, ranking, "edge.extends") == {"hop1": 1.0, "hop2": 1.0}
    assert column(world, ranking, "hop") == {"hop1": 1.0, "hop2": 2.0}


def test_edges_are_walked_in_the_direction_of_the_arrow():
    against = World(
        memory("seed"), memory("source", vector=None), Linked(a="source", b="seed", kind="supports")
    )
    assert against.rank("memorysync", PLAIN, vector=QUERY).ids == ("seed",)


def test_a_hidden_memory_is_neither_reached_nor_passed_through():
    world = World(*CHAIN, *LINKS, Forgotten(id="hop1"))
    assert world.rank("memorysync", PLAIN, vector=QUERY, context={"depth": 3}).ids == ("seed",)
    scoped = World(*CHAIN, *LINKS).rank("memorysync", PLAIN, vector=QUERY, filters={"exclude": ["hop2"]})
    assert set(scoped.ids) == {"seed", "hop1"}


def test_of_too_many_linked_memories_the_heaviest_200_come_in():
    crowd = [memory(f"m{n:03}", vector=None) for n in range(300)]
    edges = [Linked(a="seed", b=m.id, kind="similar", weight=(n % 3) + 1.0) for n, m in enumerate(crowd)]
    world = World(memory("seed"), *crowd, *edges)
    found = set(world.rank("memorysync", PLAIN, vector=QUERY, k=500).ids) - {"seed"}
    heaviest = [m.id for n, m in enumerate(crowd) if n % 3 == 2] + [
        m.id for n, m in enumerate(crowd) if n % 3 == 1
    ]
    assert found == set(heaviest)
    assert len(found) == 200


@pytest.mark.parametrize(
    ("entities", "tags", "boost"),
    [((), (), 0.0), (("ada",), (), 0.05), (("ada",), ("tea",), 0.10), (("ada", "bob"), ("tea",), 0.10)],
)
def test_personalisation_counts_shared_entities_and_tags_up_to_0_10(
    entities: tuple[str, ...], tags: tuple[str, ...], boost: float
):
    world = World(memory("m", entities=("ada", "bob"), tags=("tea", "ada")))
    context = {"entities": entities, "tags": tags}
    assert world.scores("memorysync", PLAIN, vector=QUERY, context=context) == {"m": digits12(1.0 + boost)}


def used(id_: str, session: str, how: str = "used") -> Accessed:
    return Accessed(ids=(id_,), at=NOW, session=session, how=how)


def test_affinity_is_learned_from_what_was_used_twice_unless_the_call_names_it():
    world = World(
        memory("x", tags=("tea",), entities=("ada",)),
        memory("y", tags=("tea", "user")),
        memory("z", tags=("rain",)),
    )

    def gained(**question: object) -> dict[str, float]:
        """What personalisation adds: against a call that names a label which no memory has."""
        asked = {"vector": QUERY, "text": PLAIN, **question}
        without = world.scores("memorysync", **{**asked, "context": {"tags": ["of nothing"]}})
        scores = world.scores("memorysync", **asked)
        return {id_: round(score - without[id_], 9) for id_, score in scores.items()}

    world.tell(used("y", "s1"), used("x", "s1", "returned"), used("x", "s2", "injected"))
    assert gained() == {"x": 0.0, "y": 0.0, "z": 0.0}
    twice = world.tell(used("x", "s2"))
    assert gained() == {"x": 0.05, "y": 0.05, "z": 0.0}, "tea was used twice; a role is no topic"
    assert gained(context={"tags": ["rain"]}) == {"x": 0.0, "y": 0.0, "z": 0.05}
    world.tell(used("x", "s1"), used("z", "s1"), used("z", "s2"))
    assert gained() == {"x": 0.10, "y": 0.05, "z": 0.05}
    assert gained(at=twice) == {"x": 0.05, "y": 0.05, "z": 0.0}, "the past knows only its own uses"


def test_what_the_session_was_told_before_gets_0_03():
    told = Recalled(
        question=Question(text="x", now=NOW, session="s"), basis=1, formula="f", ids=("m",), scores=(1.0,)
    )
    world = World(memory("m"), memory("n"))
    before = world.projections.position
    world.tell(told)
    plain, same, other = (
        world.scores("memorysync", PLAIN, vector=QUERY, session=s) for s in (None, "s", "t")
    )
    assert plain == other == {"n": 1.0, "m": 1.0}
    assert same == {"m": 1.03, "n": 1.0}
    assert world.scores("memorysync", PLAIN, vector=QUERY, session="s", at=before) == plain


def test_the_candidate_pool_is_the_same_for_every_k():
    world = World(*(memory(f"m{n:03}") for n in range(150)))
    sizes = {len(world.rank("memorysync", PLAIN, vector=QUERY, k=k).sheet) for k in (1, 10, 120)}
    assert sizes == {100}
