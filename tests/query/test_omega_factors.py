"""Every factor of omega against the arithmetic of its document."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query.catalogue import FACTORS
from recollect.query.factors.clusters import cluster_boost, consolidation_quality
from recollect.query.factors.importance import preference_boost, priority_factor, type_weight
from recollect.query.factors.recency import temporal_fit
from recollect.query.factors.text import contextual_boost, hot_relevance, text_relevance, word_overlap_boost
from recollect.query.factors.usage import feedback_factor, thompson_boost

NONE = math.nan


def values(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float64)


def test_text_relevance_is_70_percent_bm25_and_30_percent_words():
    found = text_relevance(values(1.0, 0.1, NONE), values(0.5, 1.0, 1.0)).tolist()
    assert found[:2] == [0.7 * 1.0 + 0.3 * 0.5, 0.7 * 0.1 + 0.3 * 1.0]
    assert math.isnan(found[2])


def test_the_type_weight_is_the_one_that_was_looked_up():
    assert type_weight(values(3.0, 0.05)).tolist() == [3.0, 0.05]


@pytest.mark.parametrize(
    ("feedback", "expected"),
    [
        (0, 1.0),
        (1, 1.0 + 1 * 0.15),
        (10, 2.5),
        (25, 2.5),
        (-1, 1.0 - 1 * 0.2),
        (-2, 1.0 - 2 * 0.2),
        (-4, 0.2),
        (-9, 0.2),
    ],
)
def test_feedback_lifts_by_15_percent_up_to_10_and_lowers_by_20_down_to_0_2(feedback: float, expected: float):
    assert feedback_factor(values(feedback)).tolist() == [pytest.approx(expected, abs=1e-15)]


def test_priority_runs_from_0_78_to_1_10_and_a_missing_one_is_that_of_the_kind():
    found = priority_factor(values(1, 2, 3, 4, 5, NONE, 9, -1), values(3, 3, 3, 3, 3, 4, 3, 3)).tolist()
    assert found == [0.7 + p * 0.08 for p in (1, 2, 3, 4, 5, 4, 5, 1)]


def decay(days: float, accesses: float, pace: float, slowing: float = 1.0) -> float:
    (found,) = FACTORS["floored_decay"](
        values(days), values(accesses), values(pace), values(slowing)
    ).tolist()
    return found


def test_decay_is_exponential_down_to_a_floor_that_depends_on_access():
    assert decay(10, 0, 0.02) == math.exp(-0.02 * 10)
    assert decay(1000, 0, 0.02) == 0.15
    assert decay(1000, 1, 0.02) == 0.35
    assert decay(1e6, 0, 0.0) == 1.0
    assert decay(0, 0, 0.10) == 1.0


def test_every_access_slows_the_decay_of_a_decision_by_15_percent_not_below_0_002():
    assert decay(40, 0, 0.015, 0.85) == math.exp(-0.015 * 40)
    assert decay(40, 2, 0.015, 0.85) == math.exp(-0.015 * 0.85 * 0.85 * 40)
    assert decay(40, 10, 0.015, 0.85) == decay(40, 99, 0.015, 0.85)
    slowest = 0.015
    for _ in range(10):
        slowest *= 0.85
    assert decay(40, 10, 0.015, 0.85) == math.exp(-max(0.002, slowest) * 40)
    assert decay(40, 10, 0.003, 0.85) == math.exp(-0.002 * 40)
    assert decay(40, 2, 0.015) == math.exp(-0.015 * 40)


def test_thompson_is_neutral_below_five_verdicts_then_the_mean_of_a_beta():
    found = thompson_boost(values(4, 5, 0, 8), values(0, 0, 5, 2)).tolist()
    assert found == [1.0, 0.8 + 0.4 * (6 / 7), 0.8 + 0.4 * (1 / 7), 0.8 + 0.4 * (9 / 12)]


def test_consolidation_quality_lifts_up_to_1_3():
    assert consolidation_quality(values(0, 1, 3, 9)).tolist() == [
        1.0, 1.0 + 1 * 0.1, 1.0 + 3.0 * 0.1, 1.0 + 3.0 * 0.1,
    ]  # fmt: skip


def test_a_hot_memory_is_a_hit_from_an_overlap_of_0_4():
    found = hot_relevance(values(7, 7, NONE), values(0.4, 0.39, 1.0)).tolist()
    assert found[0] == 0.4
    assert math.isnan(found[1])
    assert math.isnan(found[2])


def test_word_overlap_lifts_by_half_of_itself_and_half_of_that_if_disliked():
    found = word_overlap_boost(values(0.5, 0.5, 0.0), values(0, -1, 0), word=1.8).tolist()
    assert found == [1.0 + 0.5 * 0.5 * 1.0 * 1.8, 1.0 + 0.5 * 0.5 * 0.5 * 1.8, 1.0]


def test_preferences_count_one_and_a_half_when_asked_for():
    assert preference_boost(values(1, 0), preference=1.5).tolist() == [1.5, 1.0]


def test_context_lifts_by_tags_project_and_up_to_three_names():
    found = contextual_boost(values(2, 0, 0), values(1, 0, 0), values(1, 5, 0), ctx=1.5).tolist()
    assert found == [
        1.0 + (2 * 0.10 + 1 * 0.15 + 1 * 0.05) * 1.5,
        1.0 + (0 * 0.10 + 0 * 0.15 + 3 * 0.05) * 1.5,
        1.0,
    ]


def test_a_cluster_lifts_from_a_cosine_of_0_5_and_by_no_more_than_0_15():
    found = cluster_boost(values(0.5, 0.65, 0.955, 1.0, -1.0, NONE)).tolist()
    assert found == [1.0, 1.0 + (0.65 - 0.5) * 0.33, 1.0 + 0.15, 1.0 + 0.15, 1.0, 1.0]


def test_the_four_multipliers_of_time():
    found = temporal_fit(values(1, 0, 0, 0, NONE), values(1, 0, 1, 1, 1), values(0, 1, 1, 0, 1)).tolist()
    assert found == [1.3, 0.85, 0.15, 0.70, 1.0]


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_factors_stay_in_their_ranges(feedback: int, helpful: int, unhelpful: int):
    assert 0.2 <= feedback_factor(values(feedback)).item() <= 2.5
    assert 0.8 < thompson_boost(values(helpful), values(unhelpful)).item() < 1.2
