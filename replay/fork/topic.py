"""What a session was answered before, as a formula sees it in a future of its own."""

from __future__ import annotations

import msgspec

from recollect.events.facts import Previous, Question, Recalled
from recollect.events.log import Log
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.query.formula_check import read_by
from recollect.query.stages.jumping import Gate


def with_previous(log: Log, question: Question, view: View, formula: Formula, *, same: bool) -> Question:
    """The question with what its session was answered before, under the same formula, in this log.

    `same` says that the question was recorded under this formula: then it has a previous answer only if it had
    one, whose asker may not have looked.
    """
    recorded = question.effects.previous
    seq = 0
    if same:
        seq = recorded.recall if recorded else 0
    elif question.session is not None and question.vector is not None and _is_gated(formula):
        seq = view.sessions.last_recall(question.session, formula.digest, view.seq)
    previous = _previous(log, seq, question) if seq else None
    if previous == recorded:
        return question
    effects = msgspec.structs.replace(question.effects, previous=previous)
    return msgspec.structs.replace(question, effects=effects)


def looks_back(formula: Formula) -> bool:
    """Whether it asks what earlier recalls of a session returned: then other answers are another state."""
    return any(stage.enabled and "returned_before" in read_by(stage) for stage in formula.stages)


def _is_gated(formula: Formula) -> bool:
    return any(isinstance(stage, Gate) and stage.enabled for stage in formula.stages)


def _previous(log: Log, seq: int, question: Question) -> Previous | None:
    recalled = log.get(seq).fact
    if not isinstance(recalled, Recalled) or recalled.question.vector is None:
        return None
    if recalled.question.embedder != question.embedder:
        return None
    return Previous(recall=seq, vector=recalled.question.vector, ids=recalled.ids, scores=recalled.scores)
