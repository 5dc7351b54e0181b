"""What a dream does to the questions that were asked: each ranked before and after, and compared.

Everything but the view stays as it was recorded: the words, the vector, the clock and the formula. Where people
said which hits were of use, the mean reciprocal rank says whether they moved up or down.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

import msgspec

from recollect.dream.settings import MeasureSettings
from recollect.dream.what_if import WhatIf
from recollect.events.facts import AnyFact, MemoryId, Question
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.ranking import rank_around
from recollect.query.ranking_metrics import churn_at, rbo, reciprocal_rank


class Asked(NamedTuple):
    """A recorded question, its formula, the memories that were used or found helpful in its answer, and its recall.

    `by_words`: its vector is of an embedder that the store had before, and is left out.
    """

    question: Question
    formula: Formula
    useful: frozenset[MemoryId] = frozenset()
    recall: str = ""
    by_words: bool = False


class AnswerChange(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded question whose answer a dream changes: the ids in order, before and after."""

    recall: str
    query: str
    before: tuple[MemoryId, ...]
    after: tuple[MemoryId, ...]


class Answers(NamedTuple):
    """A question and its answers before and after, as ids in order."""

    asked: Asked
    before: tuple[MemoryId, ...]
    after: tuple[MemoryId, ...]


def ranked_twice(asked: Sequence[Asked], before: View, after: View) -> list[Answers]:
    return [Answers(one, _ids(one, before), _ids(one, after)) for one in asked]


def measured(answers: Sequence[Answers], settings: MeasureSettings) -> dict[str, float]:
    """Means over all questions; the reciprocal ranks over those that have judgements."""
    if not answers:
        return {"questions": 0.0}
    pairs = [(one.before, one.after) for one in answers]
    metrics = {
        "questions": float(len(answers)),
        churn_name(settings): _mean([churn_at(a, b, settings.k) for a, b in pairs]),
        f"rbo@{settings.p:g}": _mean([rbo(a, b, settings.p) for a, b in pairs]),
        "top1_changed": _mean([float(a[:1] != b[:1]) for a, b in pairs]),
    }
    judged = [(a, b, one.useful) for one, a, b in answers if one.useful]
    if judged:
        was = _mean([reciprocal_rank(a, useful) for a, _, useful in judged])
        became = _mean([reciprocal_rank(b, useful) for _, b, useful in judged])
        metrics |= {
            "judged": float(len(judged)),
            "mrr_before": was,
            "mrr_after": became,
            "mrr_change": became - was,
        }
    return metrics


def changed(answers: Sequence[Answers]) -> tuple[AnswerChange, ...]:
    """The questions that get other hits, or another order."""
    return tuple(
        AnswerChange(recall=one.recall, query=one.question.text, before=before, after=after)
        for one, before, after in answers
        if before != after
    )


def answers_changed(asked: Sequence[Asked], what_if: WhatIf, fact: AnyFact) -> int:
    """How many of these questions would have other hits, or another order, after one more fact."""
    before, other = what_if.view(), what_if.copy()
    other.apply([fact])
    after = other.view()
    return sum(_ids(one, before) != _ids(one, after) for one in asked)


def churn_name(settings: MeasureSettings) -> str:
    return f"churn@{settings.k}"


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _ids(one: Asked, view: View) -> tuple[MemoryId, ...]:
    """Rank a recorded question again; numbers that are not finite do not fail the dream."""
    return rank_around(one.question, view, one.formula, finite=False)[1].ids
