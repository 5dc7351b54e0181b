"""Each row of the seed's neuroscience mapping, seen through what rankings and states do."""

from __future__ import annotations

import pytest


def test_shy_strong_traces_survive_and_weak_ones_decay(memory, clock):
    """SHY: global downscale; what is replayed with company keeps more than what is not."""
    memory.remember("the staging cluster runs on arm", id="strong")
    memory.remember("the parking lot is full", id="weak")
    clock.pass_hours(2)
    memory.dream()
    for day in range(20):
        clock.pass_hours(23)
        memory.access(["strong"], f"day{day}")
        memory.remember(f"the staging cluster runs on arm {day}", kind="reference", session=f"day{day}")
        clock.pass_hours(1)
        memory.dream()
    strong, weak = (memory.get(id_).state.strength for id_ in ("strong", "weak"))
    assert weak == pytest.approx(0.95**21)
    assert weak < strong <= 1.0


def test_ebbinghaus_a_higher_stability_forgets_more_slowly(memory, clock):
    """The forgetting curve: of two notes idle for as long, the one recalled at intervals keeps more."""
    memory.remember("alpha beta", id="spaced")
    memory.remember("alpha beta", id="crammed")
    for _ in range(3):
        clock.pass_days(5)
        memory.access(["spaced"], "s")
        memory.dream(phases=["stabilize"])
    for _ in range(3):
        memory.access(["crammed"], "s")
    memory.dream(phases=["stabilize"])
    clock.pass_days(40)
    hits = {hit.id: hit.factors["stability"] for hit in memory.recall("alpha", record=False).hits}
    assert hits["spaced"] > hits["crammed"]


def test_systems_consolidation_repeated_access_moves_a_memory_toward_the_neocortex(memory, clock):
    memory.remember("alpha beta", id="a")
    depths = [memory.get("a").state.depth_score]
    for session in range(6):
        clock.pass_days(1)
        memory.access(["a"], f"s{session}")
        memory.dream(phases=["place"])
        depths.append(memory.get("a").state.depth_score)
    assert depths == sorted(depths)
    assert depths[-1] == 3
    assert memory.recall("alpha", record=False).hits[0].factors["depth_weight"] == 1.2


def test_hebbian_reactivation_across_sessions_strengthens_after_sleep(memory, clock):
    memory.remember("alpha beta", id="z-shared", session="s0")
    memory.remember("alpha beta", id="a-alone", session="s0")
    for session in ("s1", "s2"):
        memory.access(["z-shared"], session)
    before = [hit.id for hit in memory.recall("alpha", record=False).hits]
    memory.dream(phases=["downscale"])
    after = memory.recall("alpha", record=False).hits
    assert before == ["a-alone", "z-shared"]
    assert [hit.id for hit in after] == ["z-shared", "a-alone"]
    assert [hit.factors["session_spread"] for hit in after] == [2.0, 1.0]


def test_sharp_wave_ripples_replay_recent_traces_more_than_remote_ones(memory, clock, changes):
    memory.remember("the billing service deploys", id="remote", session="s")
    clock.pass_hours(30)
    memory.remember("something wholly unlike it", id="recent", session="s")
    memory.dream(phases=["downscale"])
    clock.pass_hours(1)
    strengths = changes(memory.dream(dry_run=True, phases=["consolidate"]), "consolidate", "strength")
    gains = {id_: after - before for id_, (before, after) in strengths.items()}
    assert gains["recent"] / gains["remote"] == pytest.approx((1 + 31) / (1 + 1), rel=1e-3)


def test_complementary_learning_new_memories_leave_old_ones_as_they_are(memory, clock):
    memory.remember("the api listens on port 8080", id="old")
    clock.pass_hours(2)
    memory.dream()
    memory.remember("the api listens on port 8080", id="new")
    clock.pass_hours(2)
    report = memory.dream()
    (phase,) = [one for one in report.phases if one.phase == "consolidate"]
    assert [(c.id, c.after) for c in phase.changes if c.what == "pair"] == [("new", "merge_candidate")]
    assert memory.get("old").content == memory.get("new").content
    assert memory.get("old").visible


def test_behavioural_tagging_resists_forgetting(memory, clock):
    memory.remember("tagged", id="tagged", importance_tag="SchemaViolation")
    memory.remember("untagged", id="untagged")
    for _ in range(40):
        clock.pass_days(1)
        memory.dream(phases=["downscale", "prune"])
    assert memory.get("tagged").visible
    assert not memory.get("untagged").visible
    assert memory.get("tagged").state.strength == pytest.approx(0.99**40)


def test_reconsolidation_a_recalled_memory_is_labile_until_it_is_placed_again(memory, clock, changes):
    memory.remember("alpha beta", id="a")
    clock.pass_hours(2)
    memory.dream()
    memory.recall("alpha")
    clock.pass_hours(2)
    assert changes(memory.dream(), "place", "restabilised") == {"a": ("labile", "stable")}
    clock.pass_hours(2)
    assert changes(memory.dream(), "place", "restabilised") == {}
