"""Explaining answers: recorded recalls replayed with one memory watched, and questions that were never asked."""

from __future__ import annotations

import msgspec

from recollect.engine.names import memory_named
from recollect.engine.recall import Ranked, Standpoint, rank_from
from recollect.engine.recall_options import RecallOptions
from recollect.engine.recalls import recalled_of
from recollect.engine.remember import recall_event, recall_seq
from recollect.engine.show_recall import check
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.query.explain.explaining import explain as explain_ranking
from recollect.query.explanation import Explanation
from recollect.replay import why as replayed


@locked
def why(store: Store, recall: str, memory_id: str) -> Explanation:
    """Replay a recorded answer and explain one memory in it, or where it was lost (`dropped_at`)."""
    store.catch_up()
    seq = recall_seq(recall)
    found = replayed.why(store.log, store.projections, seq, _named(store, seq, memory_id))
    return (
        found
        if found.exact
        else msgspec.structs.replace(found, note=_not_as_recorded(store, recall, found.id))
    )


def _not_as_recorded(store: Store, recall: str, memory_id: str) -> str:
    """What the explanation is of where the replay is not what was recorded, and what was recorded."""
    verdict, recalled = check(store, recall), recalled_of(recall_event(store, recall))
    was = "the answer did not have it"
    if memory_id in recalled.ids:
        place = recalled.ids.index(memory_id)
        was = f"it was recorded at rank {place + 1} with {recalled.scores[place]:.6g}"
    sentence = verdict.sentence.rstrip(".")
    if verdict.verdict == "different":
        return f"{sentence}; {was}. What follows is of the replay; run `recollect verify`."
    return f"{sentence}; {was}. What follows is a re-ranking of what is left."


def _named(store: Store, seq: int, memory_id: str) -> str:
    """The memory that an id means; one of the answer is known even if nothing else is left of it."""
    if memory_id in replayed.recorded(store.log, store.projections, seq).ids:
        return memory_id
    return memory_named(store, memory_id)


def explain(here: Standpoint, query: str, name: str, options: RecallOptions) -> Explanation:
    """Ask a question and explain one memory in the answer."""
    memory_id = memory_named(here.store, name)
    return _explained(here.store, rank_from(here, query, options), memory_id)


@locked
def _explained(store: Store, ranked: Ranked, memory_id: str) -> Explanation:  # noqa: ARG001 (its lock is held)
    return explain_ranking(ranked.question, ranked.view, ranked.formula, memory_id)
