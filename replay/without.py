"""A log as if some memories had never been told: the same events at the same seqs, without them.

What is only about such a memory is left out: its versions, ratings and edges, and that it superseded another, which
then answers again. Where it stands among others (accesses, answers, dreams, clusters) it is taken out of the list.
Statistics, lengths and normalisations follow, because the projections are folded anew from what is left. Everything
that others did because of it stays as it was recorded: the numbers of dreams, what was derived from it, and the
centroids of clusters.

Shards are left out too, so vectors are compared one by one; `scanning` makes a question do the same where the memory
is there, so that two rankings differ by the memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

import msgspec

from recollect.events import facts
from recollect.events.envelope import Recorded
from recollect.events.subjects import memories_of
from recollect.projections.view import Projections, View

Progress = Callable[[int, int], None]
Answered = TypeVar("Answered", facts.Recalled, facts.Previous)

_LEFT_OUT = facts.Unknown(type="left out", version=0)
_PROGRESS_EVERY = 5_000


def projections_without(
    events: Iterable[Recorded], ids: Collection[facts.MemoryId], analyzers: Iterable[str], *, upto: int,
    progress: Progress | None = None,
) -> Projections:  # fmt: skip
    """Fold the events up to a seq without these memories."""
    projections, shown = Projections(sorted(set(analyzers))), 0
    for position in projections.apply_all(_untold(events, frozenset(ids))):
        if progress and position - shown >= _PROGRESS_EVERY:
            shown = position
            progress(position, upto)
    return projections


def _untold(events: Iterable[Recorded], ids: frozenset[facts.MemoryId]) -> Iterator[Recorded]:
    for recorded in events:
        fact = untold(recorded.fact, ids)
        yield recorded if fact is recorded.fact else msgspec.structs.replace(recorded, fact=fact)


def untold(  # noqa: PLR0911 (one line per kind)
    fact: facts.AnyFact | facts.Unknown | facts.Redacted, ids: frozenset[facts.MemoryId]
) -> facts.AnyFact | facts.Unknown | facts.Redacted:
    """What is left of a fact without these memories."""
    if isinstance(fact, facts.ShardSealed | facts.ShardRetired):
        return _LEFT_OUT
    if ids.isdisjoint(memories_of(fact)):
        return fact
    replace = msgspec.structs.replace
    match fact:
        case facts.Accessed():
            return replace(fact, ids=tuple(id_ for id_ in fact.ids if id_ not in ids))
        case facts.Recalled():
            return _answered(fact, ids)
        case facts.Reembedded():
            return replace(fact, vectors=tuple(one for one in fact.vectors if one[0] not in ids))
        case facts.Clustered():
            return replace(
                fact,
                clusters=tuple(
                    replace(one, members=tuple(id_ for id_ in one.members if id_ not in ids))
                    for one in fact.clusters
                ),
            )
        case facts.Consolidated() | facts.Stabilized() | facts.Placed() | facts.Promoted():
            return replace(fact, changes=tuple(one for one in fact.changes if one.id not in ids))
        case facts.Pruned():
            return replace(fact, items=tuple(one for one in fact.items if one.id not in ids))
        case _:
            return _LEFT_OUT


def question_without(question: facts.Question, ids: frozenset[facts.MemoryId]) -> facts.Question:
    """The question without what models and the answer before it said of these memories."""
    effects: facts.Effects = question.effects
    if effects.previous is not None:
        effects = msgspec.structs.replace(effects, previous=_answered(effects.previous, ids))
    if effects.reranked is not None:
        scores = {id_: score for id_, score in effects.reranked.scores.items() if id_ not in ids}
        effects = msgspec.structs.replace(
            effects, reranked=msgspec.structs.replace(effects.reranked, scores=scores)
        )
    return msgspec.structs.replace(question, effects=msgspec.structs.replace(effects, scanned=()))


def scanning(question: facts.Question, view: View) -> facts.Question:
    """The question with every vector compared one by one."""
    shards = view.projections.vectors.shards_at(view.seq)
    scanned = tuple(sorted({*question.effects.scanned, *(shard.digest for shard in shards)}))
    return msgspec.structs.replace(
        question, effects=msgspec.structs.replace(question.effects, scanned=scanned)
    )


def _answered(given: Answered, ids: Collection[facts.MemoryId]) -> Answered:
    """Remove these hits from an answer."""
    kept = [pair for pair in zip(given.ids, given.scores, strict=True) if pair[0] not in ids]
    return msgspec.structs.replace(
        given, ids=tuple(id_ for id_, _ in kept), scores=tuple(score for _, score in kept)
    )
