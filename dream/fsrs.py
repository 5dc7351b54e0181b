"""FSRS-6, long term: how a memory's stability changes when it is recalled, or is not.

    R(t, S) = (1 + factor · t / S) ** −w20,   factor = 0.9 ** (−1 / w20) − 1
    recalled  S' = S · (1 + e^w8 · (11 − D) · S^−w9 · (e^(w10 · (1 − R)) − 1) · (w15 if hard, w16 if easy))
    failed    S' = min(S, w11 · D^−w12 · ((S + 1)^w13 − 1) · e^(w14 · (1 − R)))
    D₀(G) = w4 − e^(w5 · (G − 1)) + 1,   ΔD = −w6 · (G − 3)
    D' = w7 · D₀(easy) + (1 − w7) · (D + ΔD · (10 − D) / 9),   1 ≤ D ≤ 10

S is in days: after S days without a recall, R is 0.9. A recall right after another has R = 1 and changes
nothing, so only spaced recalls count; the short-term rule for reviews within a day is left out for that reason.
Source: open-spaced-repetition, FSRS-6 with its default weights; our numbers are tested against those that
its implementations publish (short term off).
"""

from __future__ import annotations

from enum import IntEnum

from recollect.projections.portable_math import exp, expm1, power

W = (
    0.212, 1.2931, 2.3065, 8.2956, 6.4133, 0.8334, 3.0194, 0.001, 1.8722, 0.1666, 0.796, 1.4835, 0.0614,
    0.2629, 1.6483, 0.6014, 1.8729, 0.5425, 0.0912, 0.0658, 0.1542,
)  # fmt: skip

STABILITY_MIN = 0.001


class Grade(IntEnum):
    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


def first_difficulty(grade: Grade) -> float:
    return _bounded(W[4] - exp(W[5] * (grade - 1)) + 1.0)


def retrievability(*, elapsed_days: float, stability: float, decay: float = W[20]) -> float:
    """The chance to recall after so many days; 0.9 after `stability` days."""
    factor = power(0.9, -1.0 / decay) - 1.0
    return power(1.0 + factor * elapsed_days / stability, -decay)


def next_stability(*, stability: float, difficulty: float, elapsed_days: float, grade: Grade) -> float:
    """The stability after a review `elapsed_days` after the one before."""
    lost = 1.0 - retrievability(elapsed_days=elapsed_days, stability=stability)
    if grade is Grade.AGAIN:
        failed = W[11] * power(difficulty, -W[12]) * (power(stability + 1.0, W[13]) - 1.0)
        failed *= exp(W[14] * lost)
        return max(STABILITY_MIN, min(stability, failed))
    bonus = {Grade.HARD: W[15], Grade.EASY: W[16]}.get(grade, 1.0)
    growth = exp(W[8]) * (11.0 - difficulty) * power(stability, -W[9]) * expm1(W[10] * lost) * bonus
    return stability * (1.0 + growth)


def next_difficulty(*, difficulty: float, grade: Grade) -> float:
    """The difficulty after a review: failures raise it toward 10, and it drifts back toward easy."""
    step = -W[6] * (grade - 3)
    moved = difficulty + step * (10.0 - difficulty) / 9.0
    easy = W[4] - exp(W[5] * (Grade.EASY - 1)) + 1.0
    return _bounded(W[7] * easy + (1.0 - W[7]) * moved)


def difficulty_after(failures: int) -> float:
    """The difficulty of what was first learnt well and failed so many times since."""
    difficulty = first_difficulty(Grade.GOOD)
    for _ in range(min(failures, 20)):
        difficulty = next_difficulty(difficulty=difficulty, grade=Grade.AGAIN)
    return difficulty


def _bounded(difficulty: float) -> float:
    return min(10.0, max(1.0, difficulty))
