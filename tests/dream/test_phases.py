"""Each row of Reverie's dream table: what a phase reads, and what it writes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recollect.dream.fsrs import Grade, difficulty_after, next_stability
from recollect.dream.settings import default_settings
from recollect.events.facts import Clustered, Consolidated, Downscaled, Linked, Placed, Pruned, Rated

TOPIC = "the deploy of the billing service"


def facts(memory, report, kind: type) -> list:
    events = memory._store.log.read(report.basis, report.head)
    return [recorded.fact for recorded in events if isinstance(recorded.fact, kind)]


def state(memory, id_: str):
    return memory.get(id_).state


# --- scan: identifies candidates by consolidation status Staged ------------------------------------------


def test_scan_picks_staged_memories_older_than_an_hour_by_priority(memory, clock, changes):
    old = memory.remember("an old decision", kind="decision")
    clock.pass_hours(168)
    fresh = memory.remember("a fresh decision", kind="decision")
    clock.pass_hours(2)
    memory.remember("too young")
    report = memory.dream(dry_run=True, phases=["scan"])
    picked = changes(report, "scan", "picked")
    assert list(picked) == [fresh, old]
    assert picked[fresh][1] == pytest.approx(2 ** (-2 / 168) * 0.1 * 0.9, rel=1e-6)
    assert picked[old][1] == pytest.approx(2 ** (-170 / 168) * 0.1 * 0.9, rel=1e-6)


def test_scan_takes_the_top_and_no_memory_that_is_staged_no_longer(memory, clock, changes):
    ids = [memory.remember(f"note {n}", id=f"n{n}") for n in range(5)]
    clock.pass_hours(2)
    first = changes(memory.dream(settings={"scan": {"top": 3}}), "scan", "picked")
    clock.pass_hours(2)
    second = changes(memory.dream(settings={"scan": {"top": 3}}), "scan", "picked")
    assert len(first) == 3
    assert set(second) == set(ids) - set(first)


def test_scan_lowers_the_priority_of_what_its_topic_says_already(memory, clock, changes):
    memory.remember("alpha beta gamma delta", id="a", key="t")
    memory.remember("alpha beta gamma omega", id="b", key="t")
    memory.remember("alpha beta gamma delta", id="c", key="other")
    clock.pass_hours(1)
    picked = changes(memory.dream(dry_run=True, phases=["scan"]), "scan", "picked")
    assert picked["a"][1] == pytest.approx(picked["c"][1] * (1 - 3 / 5), rel=1e-6)


def test_scan_writes_nothing_but_the_dream_itself(memory, clock):
    memory.remember("a note")
    clock.pass_hours(2)
    report = memory.dream(phases=["scan"])
    assert report.head - report.basis == 2


# --- consolidate: reads spread and age, writes strength ---------------------------------------------------


def test_consolidate_adds_the_replay_delta_of_age_and_peers(memory, clock):
    """A week of downscales leaves room below 1; then peers of one session are replayed."""
    for n in range(3):
        memory.remember(f"{n} completely different words {n * 7}", id=f"s{n}", session="monday")
    clock.pass_hours(1)
    memory.dream(phases=["downscale"])
    clock.pass_hours(3)
    report = memory.dream(phases=["consolidate"], settings={"consolidate": {"peer_similarity": 1.0}})
    (fact,) = facts(memory, report, Consolidated)
    expected = 0.95 + 0.1 * (1 / (1 + 4)) * math.log(1 + 2)
    assert {change.id for change in fact.changes} == {"s0", "s1", "s2"}
    for change in fact.changes:
        assert change.before == 0.95
        assert change.after == pytest.approx(expected, abs=1e-6)
        assert state(memory, change.id).strength == change.after


def test_consolidate_counts_each_peer_once_by_session_link_or_nearness(memory, clock):
    memory.remember(TOPIC, id="a", session="s")
    memory.remember("unlike anything else", id="b", session="s")
    memory.remember(TOPIC + " today", id="c")
    memory.dream(phases=["downscale"])
    clock.pass_hours(1)
    report = memory.dream(phases=["consolidate"], dry_run=True)
    (phase,) = [one for one in report.phases if one.phase == "consolidate"]
    (why,) = [change.why for change in phase.changes if change.id == "a" and change.what == "strength"]
    assert "2 peers (1 of its session, 0 linked, 1 near)" in why


def test_consolidate_never_lifts_a_strength_above_one(memory, clock):
    for n in range(40):
        memory.remember(f"{TOPIC} {n}", session="one")
    clock.pass_hours(1)
    report = memory.dream(phases=["consolidate"])
    assert {memo.state.strength for memo in memory.memories()} == {1.0}
    assert facts(memory, report, Consolidated) == []


def test_what_was_recalled_since_the_last_dream_is_replayed_too(memory, clock, changes):
    memory.remember(TOPIC, id="used")
    memory.remember(TOPIC + " again", id="unused")
    clock.pass_hours(2)
    memory.dream()
    clock.pass_hours(20)
    memory.access(["used"], "tuesday")
    clock.pass_hours(4)
    strengths = changes(memory.dream(), "consolidate", "strength")
    assert set(strengths) == {"used"}
    assert strengths["used"][1] == pytest.approx(0.95 + 0.1 / (1 + 4) * math.log(1 + 1), abs=1e-6)


def test_new_memories_are_set_beside_their_three_closest_old_ones(memory, clock):
    for n in range(5):
        memory.remember(f"{TOPIC} in region {n}", id=f"old{n}")
    clock.pass_hours(2)
    memory.dream()
    memory.remember(f"{TOPIC} in region 2", id="same")
    memory.remember("quokkas eat leaves", id="other")
    clock.pass_hours(2)
    report = memory.dream(phases=["scan", "consolidate"])
    (fact,) = facts(memory, report, Consolidated)
    decisions = {(pair.new, pair.old): pair.decision for pair in fact.pairs}
    assert [pair.new for pair in fact.pairs].count("same") == 3
    assert decisions["same", "old2"] == "merge_candidate"
    assert {decision for (new, _), decision in decisions.items() if new == "other"} == {"keep_apart"}
    links = {(link.a, link.b): link.weight for link in facts(memory, report, Linked)}
    assert links == {(pair.new, pair.old): pair.similarity for pair in fact.pairs if pair.decision == "link"}
    assert memory.get("same").visible
    assert memory.get("old2").visible


# --- downscale: reads and writes strength -----------------------------------------------------------------


def test_downscale_multiplies_every_strength_with_one_event(memory):
    memory.remember("a plain note", id="plain")
    memory.remember("a tagged note", id="tagged", importance_tag="Explicit")
    report = memory.dream(phases=["downscale"])
    assert len(facts(memory, report, Downscaled)) == 1
    memory.dream(phases=["downscale"])
    assert state(memory, "plain").strength == 0.95 * 0.95
    assert state(memory, "tagged").strength == 0.99 * 0.99


def test_no_strength_falls_below_the_floor(memory):
    memory.remember("a plain note", id="plain")
    for _ in range(5):
        memory.dream(phases=["downscale"], settings={"downscale": {"factor": 0.3}})
    assert 0.3**5 < 0.01
    assert state(memory, "plain").strength == 0.01


# --- stabilize --------------------------------------------------------------------------------------------


def test_stabilize_grows_with_spaced_success_and_drops_after_failure(memory, clock, tell):
    for id_ in ("used", "returned", "failed", "untouched"):
        memory.remember(f"the {id_} note", id=id_)
    clock.pass_days(4)
    memory.access(["used"], "s", "used")
    memory.access(["returned"], "s", "returned")
    tell(Rated(id="failed", verdict="unhelpful", at=clock()))
    memory.dream(phases=["stabilize"])
    good, hard, again = (
        next_stability(stability=1.0, difficulty=difficulty_after(0), elapsed_days=4.0, grade=grade)
        for grade in (Grade.GOOD, Grade.HARD, Grade.AGAIN)
    )
    assert state(memory, "used").stability == pytest.approx(good, rel=1e-6)
    assert state(memory, "returned").stability == pytest.approx(hard, rel=1e-6)
    assert state(memory, "failed").stability == pytest.approx(again, rel=1e-6)
    assert state(memory, "untouched").stability == 1.0
    assert good > hard > 1.0 > again


def test_the_same_recalls_crammed_into_one_moment_do_not_stabilise(memory, clock):
    memory.remember("a note", id="a")
    for _ in range(9):
        memory.access(["a"], "s", "used")
    memory.dream(phases=["stabilize"])
    assert state(memory, "a").stability == pytest.approx(1.0, abs=1e-3)


# --- prune: reads staleness and duplicates, hides softly ---------------------------------------------------


@pytest.fixture
def aged(memory, clock, tell):
    """One memory per rule, and for each a neighbour that the rule must spare; 200 days old."""
    for kind in ("session", "bug", "config", "decision", "reference", "heuristic"):
        memory.remember(f"an old {kind}", id=kind, kind=kind)
    memory.remember("an old resolved bug", id="resolved", kind="bug", tags=["resolved"])
    memory.remember("a note nobody read", id="unread")
    memory.remember("a tagged note nobody read", id="tagged", importance_tag="Explicit")
    memory.remember("an important note nobody read", id="important", importance=0.8)
    for id_ in ("session", "bug", "config", "decision", "resolved"):
        memory.access([id_], "s", "used")
    clock.pass_days(200)
    memory.remember("it was so", id="before", key="db")
    memory.remember("the port is 5432", id="loser")
    clock.pass_hours(1)
    memory.remember("it is so now", id="after", key="db")
    memory.remember("the port is 5433", id="winner")
    tell(Linked(a="winner", b="loser", kind="supersedes"))
    clock.pass_hours(1)
    return memory


def test_prune_hides_what_each_rule_names_and_nothing_else(aged):
    report = aged.dream(phases=["prune"])
    (fact,) = facts(aged, report, Pruned)
    rules = {item.id: item.reason.split(":")[0] for item in fact.items}
    assert rules == {
        "resolved": "stale",
        "config": "stale",
        "decision": "stale",
        "unread": "never accessed in 200.1 days",
        "before": "duplicate",
        "loser": "superseded",
    }
    memo = aged.get("unread")
    assert (memo.visible, memo.state.visibility) == (False, "pruned")
    numbers = {item.id: item.numbers for item in fact.items}["decision"]
    assert numbers["staleness"] == pytest.approx((200 + 2 / 24) / 180, rel=1e-4)


def test_what_came_from_a_source_is_unread_only_since_it_came(memory, clock):
    for kind in ("turn", "decision", "config"):
        memory.remember(f"an old {kind}", id=kind, kind=kind, at="300 days ago", source="chatgpt: Tea")
    assert not memory.dream(phases=["prune"]).phases[0].changes
    clock.pass_days(31)
    changes = memory.dream(phases=["prune"]).phases[0].changes
    assert {(change.id, change.why) for change in changes} == {
        (kind, "never accessed in 31.0 days") for kind in ("turn", "decision", "config")
    }


def test_kinds_that_never_go_stale_have_no_staleness(aged):
    report = aged.dream(phases=["prune"], settings={"prune": {"superseding_kind": "replaces"}})
    assert not {"reference", "heuristic"} & {
        item.id for fact in facts(aged, report, Pruned) for item in fact.items
    }
    assert (
        default_settings().kind("reference").decay_per_day
        == default_settings().kind("heuristic").decay_per_day
        == 0.0
    )
    assert default_settings().kind("decision").decay_per_day == 1 / 180


def test_a_score_for_pruning_is_signal_over_staleness_and_may_be_given_a_limit(memory, clock):
    memory.remember("read once", id="once", kind="preference")
    memory.remember("read often", id="often", kind="preference")
    memory.access(["once"], "s")
    for _ in range(9):
        memory.access(["often"], "s")
    clock.pass_days(100)
    assert facts(memory, memory.dream(phases=["prune"]), Pruned) == []
    once, often = (n / 100 * 1 * 1.5 / (100 / 365) for n in (1, 9))
    limit = {"prune": {"score_floor": (once + often) / 2}}
    (fact,) = facts(memory, memory.dream(phases=["prune"], settings=limit), Pruned)
    (item,) = fact.items
    assert (item.id, item.reason.split(":")[0]) == ("once", "worthless")
    assert item.numbers["score"] == pytest.approx(once, rel=1e-4)


def test_what_the_downscale_brought_to_the_floor_is_pruned_unless_it_is_protected(memory, clock, tell):
    memory.remember("a plain note", id="plain")
    memory.remember("an explicit rule", id="tagged", importance_tag="Explicit")
    memory.remember("a rule of thumb", id="heuristic", kind="heuristic")
    clock.pass_hours(2)
    fast = {"downscale": {"factor": 0.3, "tagged_factor": 0.3}}
    for _ in range(3):
        assert facts(memory, memory.dream(phases=["downscale", "prune"], settings=fast), Pruned) == []
    assert 0.3**3 > 0.01 > 0.3**4
    kept = fast | {"prune": {"strength_floor": 0.0}}
    assert facts(memory, memory.dream(phases=["downscale", "prune"], settings=kept), Pruned) == []
    report = memory.dream(phases=["downscale", "prune"], settings=fast)
    (fact,) = facts(memory, report, Pruned)
    assert [(item.id, item.reason) for item in fact.items] == [
        ("plain", "faded: strength 0.01, at the floor 0.01")
    ]
    memory.undream(report.id)
    assert memory.get("plain").visible


def test_test_data_is_pruned_by_its_kind_or_tag(memory, clock):
    memory.remember("fixture one", id="kind", kind="Test")
    memory.remember("fixture two", id="tag", tags=["test-data"])
    memory.remember("how we test", id="about", tags=["test"])
    clock.pass_hours(2)
    (fact,) = facts(memory, memory.dream(phases=["prune"]), Pruned)
    assert {item.id: item.reason.split(":")[0] for item in fact.items} == {
        "kind": "test data",
        "tag": "test data",
    }


def test_a_stale_session_is_archived_and_still_answers(aged):
    aged.dream(phases=["prune"])
    memo = aged.get("session")
    assert (memo.visible, memo.state.consolidation_status) == (True, "archived")


def test_a_pruned_memory_can_be_restored_by_hand(aged):
    aged.dream(phases=["prune"])
    aged.restore("unread")
    assert aged.get("unread").visible


# --- place: status and depth ------------------------------------------------------------------------------


def test_place_consolidates_what_was_replayed_and_restabilises_what_was_recalled(memory, clock):
    memory.remember("a note to recall", id="recalled")
    memory.remember("a note", id="quiet")
    clock.pass_hours(2)
    memory.recall("a note to recall", k=1)
    report = memory.dream()
    (placed,) = facts(memory, report, Placed)
    assert {change.id: change.restabilized for change in placed.changes} == {"recalled": True, "quiet": False}
    assert state(memory, "quiet").consolidation_status == "consolidated"
    clock.pass_hours(2)
    assert facts(memory, memory.dream(), Placed) == []  # recalled before the last dream: stable again


def test_depth_goes_down_to_semantic_with_use_across_sessions_and_up_again_in_silence(memory, clock):
    memory.remember("a note", id="a", kind="reference")
    for session in range(5):
        clock.pass_days(1)
        memory.access(["a"], f"s{session % 3}")
    memory.dream(phases=["place"])
    assert state(memory, "a").depth_score == 3
    clock.pass_days(91)
    memory.dream(phases=["place"])
    memory.dream(phases=["place"])
    assert state(memory, "a").depth_score == 1
    assert state(memory, "a").consolidation_status == "archived"


# --- promote: reads signal and depth, writes layer and depth ------------------------------------------------


def test_five_sessions_promote_to_the_canonical_layer_once(memory, clock):
    memory.remember("asked for by many", id="many", session="s0")
    memory.remember("asked for by some", id="some", session="s0")
    for session in range(1, 5):
        memory.access(["many"], f"s{session}")
    for session in range(1, 4):
        memory.access(["some"], f"s{session}")
    memory.dream(phases=["promote"])
    assert (state(memory, "many").session_spread, state(memory, "some").session_spread) == (5, 4)
    assert (state(memory, "many").layer, state(memory, "many").depth_score) == ("canonical", 3)
    assert (state(memory, "some").layer, state(memory, "some").depth_score) == ("", 2)
    assert memory.dream(phases=["promote"]).counts == {"promote": 0}


def test_silence_demotes_from_the_canonical_layer_and_use_promotes_again(memory, clock):
    for id_, tag in (("quiet", None), ("tagged", "Explicit")):
        memory.remember("asked for by many", id=id_, session="s0", importance_tag=tag, kind="reference")
        for session in range(1, 5):
            memory.access([id_], f"s{session}")
    memory.dream(phases=["promote"])
    clock.pass_days(180)
    assert memory.dream(phases=["promote"]).counts == {"promote": 0}, "not idle for longer yet"
    clock.pass_days(400)
    assert 4 / 580 * 1 * 1.2 < 0.01
    kept = {"promote": {"demote_signal": 0.0}}
    assert memory.dream(phases=["promote"], settings=kept).counts == {"promote": 0}
    report = memory.dream(phases=["promote"])
    assert (state(memory, "quiet").layer, state(memory, "tagged").layer) == ("", "canonical")
    assert memory.dream(phases=["promote"]).counts == {"promote": 0}, (
        "five sessions of long ago promote no more"
    )
    memory.undream(report.id)
    assert state(memory, "quiet").layer == "canonical"
    memory.dream(phases=["promote"])
    memory.access(["quiet"], "s9")
    memory.dream(phases=["promote"])
    assert state(memory, "quiet").layer == "canonical"


def test_depth_and_signal_promote(memory, clock):
    memory.remember("used daily", id="daily", kind="decision")
    for session in range(6):
        clock.pass_days(1)
        memory.access(["daily"], f"s{session % 3}")
    memory.dream(phases=["place", "promote"])
    assert 6 / 6 * 1 * 1.5 > 0.2
    assert state(memory, "daily").layer == "canonical"


# --- cluster ------------------------------------------------------------------------------------------------


def test_clusters_group_what_is_alike_and_stand_until_a_tenth_is_new(memory, clock):
    for n in range(12):
        memory.remember(
            f"{'cats purr and sleep' if n % 2 else 'rust borrow checker errors'} {n}", id=f"m{n:02}"
        )
    first = memory.dream(phases=["cluster"])
    (fact,) = facts(memory, first, Clustered)
    assert len(fact.clusters) == math.ceil(math.sqrt(12 / 2))
    for cluster in fact.clusters:
        assert len({int(id_[1:]) % 2 for id_ in cluster.members}) == 1
    memory.remember("cats purr and sleep again", id="m12")
    assert facts(memory, memory.dream(phases=["cluster"]), Clustered) == []
    memory.remember("cats purr and sleep once more", id="m13")
    (again,) = facts(memory, memory.dream(phases=["cluster"]), Clustered)
    assert sum(len(cluster.members) for cluster in again.clusters) == 14
    view = memory._store.view()
    assert np.all(view.graph.clusters.of(np.arange(14), view.seq) >= 0)


def test_a_few_memories_or_none_with_vectors_make_no_clusters(memory):
    for n in range(7):
        memory.remember(f"note {n}")
    assert facts(memory, memory.dream(phases=["cluster"]), Clustered) == []
