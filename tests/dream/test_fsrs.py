"""FSRS-6 against the numbers that its implementations publish (py-fsrs, ts-fsrs, fsrs-rs; default weights)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.dream.fsrs import (
    Grade,
    W,
    difficulty_after,
    first_difficulty,
    next_difficulty,
    next_stability,
    retrievability,
)

stabilities = st.floats(0.1, 365.0)
rests = st.floats(0.0, 1000.0)


def review(stability: float, difficulty: float, days: float, grade: Grade) -> tuple[float, float]:
    after = next_stability(stability=stability, difficulty=difficulty, elapsed_days=days, grade=grade)
    return after, next_difficulty(difficulty=difficulty, grade=grade)


@pytest.mark.parametrize(
    ("decay", "expected"),
    [(0.2, (1.0, 0.9, 0.84028935, 0.7985001)), (0.1542, (1.0, 0.9, 0.84588465, 0.8093881))],
)
def test_the_forgetting_curve_has_the_published_values(decay, expected):
    found = [retrievability(elapsed_days=days, stability=1.0, decay=decay) for days in range(4)]
    assert found == pytest.approx(expected, abs=1e-6)


def test_retention_is_nine_tenths_after_stability_days():
    for stability in (0.5, 1.0, 30.0):
        assert retrievability(elapsed_days=stability, stability=stability) == pytest.approx(0.9, abs=1e-12)


@pytest.mark.parametrize(
    ("retention", "days"),
    [(0.2, 34793), (0.3, 2508), (0.4, 387), (0.5, 90), (0.6, 27), (0.7, 9), (0.8, 3), (0.9, 1)],
)
def test_the_curve_inverts_to_the_published_intervals(retention, days):
    factor = 0.9 ** (-1 / 0.1542) - 1
    exact = (retention ** (-1 / 0.1542) - 1) / factor
    assert max(1, round(exact)) == days
    assert retrievability(elapsed_days=exact, stability=1.0) == pytest.approx(retention, abs=1e-9)


def test_the_first_review_sets_the_published_stability_and_difficulty():
    assert [W[grade - 1] for grade in Grade] == [0.212, 1.2931, 2.3065, 8.2956]
    assert [first_difficulty(grade) for grade in Grade] == pytest.approx(
        [6.4133, 5.11217071, 2.11810397, 1.0], abs=1e-7
    )


def test_a_history_of_reviews_ends_at_the_published_state():
    stability, difficulty = W[Grade.AGAIN - 1], first_difficulty(Grade.AGAIN)
    for days in (0, 1, 3, 8, 21):
        stability, difficulty = review(stability, difficulty, days, Grade.GOOD)
    assert stability == pytest.approx(53.335106, abs=1e-4)
    assert difficulty == pytest.approx(6.3574867, abs=1e-4)


def test_reviews_at_their_due_time_give_the_published_intervals():
    stability, difficulty = review(W[Grade.GOOD - 1], first_difficulty(Grade.GOOD), 0, Grade.GOOD)
    intervals = []
    for _ in range(5):
        intervals.append(round(stability))
        stability, difficulty = review(stability, difficulty, intervals[-1], Grade.GOOD)
    assert intervals == [2, 11, 46, 163, 498]


@given(stabilities, rests)
def test_success_never_shortens_and_failure_never_lengthens(stability, days):
    for grade in (Grade.HARD, Grade.GOOD, Grade.EASY):
        assert review(stability, 5.0, days, grade)[0] >= stability
    assert review(stability, 5.0, days, Grade.AGAIN)[0] <= stability


def test_a_recall_right_after_another_changes_nothing():
    assert next_stability(stability=3.0, difficulty=5.0, elapsed_days=0.0, grade=Grade.GOOD) == 3.0


def test_difficulty_grows_with_failures_toward_ten():
    steps = [difficulty_after(failures) for failures in range(6)]
    good = 6.4133 - math.exp(0.8334 * 2) + 1
    easy = 6.4133 - math.exp(0.8334 * 3) + 1
    assert steps[0] == good
    assert steps[1] == pytest.approx(0.001 * easy + 0.999 * (good + 3.0194 * 2 * (10 - good) / 9))
    assert steps == sorted(steps)
    assert steps[-1] < 10
