"""Every formula and threshold of the phases, written out as arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.dream.cluster import clusters_of
from recollect.dream.consolidate import pair_decision, replay_delta
from recollect.dream.fsrs import Grade
from recollect.dream.place import next_depth, next_status
from recollect.dream.promote import reason
from recollect.dream.prune import verdict
from recollect.dream.scan import jaccard, priority
from recollect.dream.settings import default_settings
from recollect.dream.spherical_kmeans import partition
from recollect.dream.stabilize import grade, stabilized
from recollect.events.grid import quantize

SETTINGS = default_settings()
STAGED, CONSOLIDATED, ARCHIVED = 0, 1, 2


# --- scan --------------------------------------------------------------------------------------------


def test_priority_is_recency_times_access_times_importance_times_novelty():
    found = priority(age_hours=168.0, uses=3, importance=0.9, novelty=0.25)
    assert found == 0.5 * math.log(1 + 3) * 0.9 * 0.25


def test_recency_halves_every_week_and_access_has_a_small_floor():
    assert priority(age_hours=0.0, uses=0, importance=1.0, novelty=1.0) == 0.1
    assert priority(age_hours=336.0, uses=0, importance=1.0, novelty=1.0) == 0.25 * 0.1


def test_jaccard_is_shared_over_all():
    assert jaccard(["a", "b", "c"], ["b", "c", "d"]) == 2 / 4
    assert jaccard([], []) == 0.0
    assert jaccard(["a", "a"], ["a"]) == 1.0


# --- consolidate -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peers", "age_hours", "expected"),
    [
        (0, 1.0, 0.0),
        (1, 1.0, 0.1 * (1 / 2) * math.log(2)),
        (3, 4.0, 0.1 * (1 / 5) * math.log(4)),
        (10**6, 0.0, 0.1),
        (5, -3.0, 0.1),
    ],
)
def test_replay_adds_max_times_recency_times_log_peers(peers, age_hours, expected):
    assert replay_delta(peers=peers, age_hours=age_hours) == pytest.approx(expected, rel=1e-15)


@given(st.integers(0, 10**9), st.floats(-1e6, 1e9), st.floats(0, 1))
def test_a_replay_delta_stays_within_its_clamp(peers, age_hours, most):
    assert 0.0 <= replay_delta(peers=peers, age_hours=age_hours, max_delta=most) <= most


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (1.0, "merge_candidate"),
        (0.92, "merge_candidate"),
        (0.919, "link"),
        (0.7, "link"),
        (0.699, "keep_apart"),
    ],
)
def test_pairs_are_merged_linked_or_kept_apart_by_similarity(similarity, expected):
    assert pair_decision(similarity, link=0.7, merge=0.92) == expected


# --- stabilize ---------------------------------------------------------------------------------------


def test_a_nights_reviews_are_graded_as_one():
    assert grade(used=3, failed=1) is Grade.AGAIN
    assert grade(used=1, failed=0) is Grade.GOOD
    assert grade(used=0, failed=0) is Grade.HARD


def test_stability_follows_fsrs_for_a_good_recall_after_a_day():
    difficulty = 6.4133 - math.exp(0.8334 * 2) + 1
    growth = math.exp(1.8722) * (11 - difficulty) * 1.0 * (math.exp(0.796 * (1 - 0.9)) - 1)
    found = stabilized(
        stability=1.0, failures=0, rested_days=1.0, review=Grade.GOOD, settings=SETTINGS.stabilize
    )
    assert found == pytest.approx(1.0 + growth, rel=1e-9)


def test_stability_is_bounded():
    least = stabilized(
        stability=0.1, failures=9, rested_days=900.0, review=Grade.AGAIN, settings=SETTINGS.stabilize
    )
    most = stabilized(
        stability=360.0, failures=0, rested_days=900.0, review=Grade.GOOD, settings=SETTINGS.stabilize
    )
    assert (least, most) == (0.1, 365.0)


# --- prune -------------------------------------------------------------------------------------------

_WHEN_STALE = {"keep": 0, "never": 1, "prune": 2, "prune if resolved": 3, "archive": 4}


def doubtful(kind: str = "note", **values: object) -> dict[str, object]:
    fate = SETTINGS.kind(kind).stale
    row = {
        "status": CONSOLIDATED, "age_days": 10.0, "idle_days": 1.0, "accesses": 1, "superseded": False,
        "resolved": False, "newer": 0, "when_stale": _WHEN_STALE[fate],
    }  # fmt: skip
    row |= values
    row["staleness"] = row["idle_days"] * SETTINGS.kind(kind).decay_per_day
    return row


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (doubtful(), None),
        (doubtful(superseded=True), "superseded"),
        (doubtful(newer=1), "duplicate"),
        (doubtful(accesses=0, age_days=30.0), None),
        (doubtful(accesses=0, age_days=30.1), "never accessed"),
        (doubtful("session", idle_days=30.0), None),
        (doubtful("session", idle_days=30.1), "archive"),
        (doubtful("session", idle_days=30.1, status=ARCHIVED), None),
        (doubtful("session", accesses=0, age_days=31.0, idle_days=31.0), "archive"),
        (doubtful("bug", idle_days=60.1), None),
        (doubtful("bug", idle_days=60.1, resolved=True), "stale"),
        (doubtful("bug", idle_days=59.9, resolved=True), None),
        (doubtful("config", idle_days=90.1), "stale"),
        (doubtful("config", idle_days=89.9), None),
        (doubtful("decision", idle_days=180.1), "stale"),
        (doubtful("decision", idle_days=179.9), None),
        (doubtful("reference", idle_days=9999.0, age_days=9999.0, accesses=0), None),
        (doubtful("heuristic", idle_days=9999.0, age_days=9999.0, accesses=0), None),
        (doubtful("preference", idle_days=9999.0), None),
    ],
)
def test_each_prune_rule_holds_at_its_threshold(row, rule):
    found = verdict(row, SETTINGS.prune)
    assert found is None if rule is None else found is not None and found.startswith(rule), found


# --- place -------------------------------------------------------------------------------------------


def active(**values: object) -> dict[str, object]:
    row = {
        "status": STAGED, "depth": 2, "tagged": False, "accesses": 0, "accesses_since": 0, "spread": 1,
        "idle_days": 1.0, "replayed": False,
    }  # fmt: skip
    return row | values


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (active(), "staged"),
        (active(replayed=True), "consolidated"),
        (active(accesses=1), "consolidated"),
        (active(status=CONSOLIDATED, idle_days=90.0), "consolidated"),
        (active(status=CONSOLIDATED, idle_days=90.1), "archived"),
        (active(status=CONSOLIDATED, idle_days=90.1, tagged=True), "consolidated"),
        (active(status=ARCHIVED, idle_days=200.0), "archived"),
        (active(status=ARCHIVED, accesses=4, accesses_since=1), "consolidated"),
    ],
)
def test_status_follows_activity(row, status):
    assert next_status(row, SETTINGS.place) == status


@pytest.mark.parametrize(
    ("row", "depth"),
    [
        (active(depth=1, accesses=1, accesses_since=1), 1),
        (active(depth=1, accesses=2, accesses_since=1), 2),
        (active(depth=2, accesses=5, accesses_since=1, spread=3), 3),
        (active(depth=2, accesses=5, accesses_since=1, spread=2), 2),
        (active(depth=2, accesses=4, accesses_since=1, spread=3), 2),
        (active(depth=2, accesses=9, accesses_since=0, spread=9), 2),
        (active(depth=3, accesses=9, accesses_since=1, spread=9), 3),
        (active(depth=3, idle_days=90.1), 2),
        (active(depth=3, idle_days=90.0), 3),
        (active(depth=2, idle_days=60.1), 1),
        (active(depth=2, idle_days=60.0), 2),
        (active(depth=1, idle_days=999.0), 1),
        (active(depth=3, idle_days=999.0, tagged=True), 3),
    ],
)
def test_depth_moves_one_step_by_its_thresholds(row, depth):
    assert next_depth(row, SETTINGS.place) == depth


# --- promote -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "promoted"),
    [
        ({"spread": 5, "depth": 1, "signal": 0.0}, True),
        ({"spread": 4, "depth": 3, "signal": 0.2}, True),
        ({"spread": 4, "depth": 3, "signal": 0.19}, False),
        ({"spread": 4, "depth": 2, "signal": 9.0}, False),
    ],
)
def test_spread_or_depth_with_signal_promotes(row, promoted):
    assert (reason(row, SETTINGS.promote) is not None) == promoted


# --- cluster -----------------------------------------------------------------------------------------


def test_there_are_about_as_many_clusters_as_the_root_of_half_the_memories():
    assert [clusters_of(n, 256) for n in (8, 9, 50, 20_000, 10**6)] == [2, 3, 5, 100, 256]


def test_points_of_two_directions_fall_into_two_clusters_with_their_means():
    rng = np.random.default_rng(3)
    centres = np.eye(2, 16)[[0, 1] * 10]
    points = np.stack([quantize(c + 0.05 * rng.normal(size=16)) for c in centres]).astype(np.float32)
    found = partition(points, 2, iterations=8)
    assert found.belongs.tolist() == [0, 1] * 10
    for number in (0, 1):
        total = points[found.belongs == number].sum(axis=0, dtype=np.float64)
        assert found.centroids[number].tolist() == quantize(total).tolist()


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 8))
def test_every_point_belongs_to_the_nearest_centroid_in_whole_numbers(seed, size, clusters):
    rng = np.random.default_rng(seed)
    points = np.stack([quantize(rng.normal(size=12)) for _ in range(size)]).astype(np.float32)
    found = partition(points, min(clusters, size), iterations=5)
    dots = points.astype(np.int64) @ found.centroids.astype(np.int64).T
    assert found.belongs.tolist() == np.argmax(dots, axis=1).tolist()
    assert set(found.belongs.tolist()) == set(range(len(found.centroids)))
