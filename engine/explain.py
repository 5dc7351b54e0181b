"""Explaining answers: recorded recalls replayed with one memory watched, and questions that were never asked."""

from __future__ import annotations

from recollect.engine.recall import Ranked, Standpoint, rank_from
from recollect.engine.recall_options import RecallOptions
from recollect.engine.remember import recall_seq
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.query.explain.explaining import explain as explain_ranking
from recollect.query.explanation import Explanation
from recollect.replay import why as replayed


@locked
def why(store: Store, recall: str, memory_id: str) -> Explanation:
    """A memory in a recorded answer, replayed."""
    store.catch_up()
    return replayed.why(store.log, store.projections, recall_seq(recall), memory_id)


@locked
def why_not(store: Store, recall: str, memory_id: str) -> Explanation:
    """A memory that is not in a recorded answer, replayed; `dropped_at` says where it was lost."""
    store.catch_up()
    return replayed.why_not(store.log, store.projections, recall_seq(recall), memory_id)


def explain(here: Standpoint, query: str, memory_id: str, options: RecallOptions) -> Explanation:
    """One memory in the answer that a question has there."""
    return _explained(here.store, rank_from(here, query, options), memory_id)


@locked
def _explained(store: Store, ranked: Ranked, memory_id: str) -> Explanation:  # noqa: ARG001 (its lock is held)
    return explain_ranking(ranked.question, ranked.view, ranked.formula, memory_id)
