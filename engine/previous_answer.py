"""The previous question of a session and its answer, from the log: what a formula with a topic gate asks for."""

from __future__ import annotations

from recollect.engine.store import Store
from recollect.events.facts import Question
from recollect.projections.view import View
from recollect.query.formula import Formula
from recollect.replay.fork import topic


def with_previous(store: Store, question: Question, view: View, formula: Formula) -> Question:
    """A question that is asked now or of the past, with the effect `previous` if the formula has a gate."""
    with store.lock, store.whole:
        return topic.with_previous(store.log, question, view, formula, same=False)
