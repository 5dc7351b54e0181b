"""What stays of an event when memories are erased: ids and numbers. Words and vectors go.

    Ingested, Revised              id, times, importance, priority, trust; which of text and vector there were
    Reembedded                     everything but the vectors of the erased memories
    Clustered                      everything but the centroids of clusters that an erased memory is in
    Forgotten, Restored, Superseded  everything but the reason
    Expected                       everything but the note
    Erased                         an earlier erasure without its reason, and without the remains that changed since

All other events name a memory only by its id and contain no words of it: accesses, ratings, edges, dreams. A recall
contains its question, which is in the words of the person who asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from recollect.events.facts import (
    AnyFact,
    Cluster,
    Clustered,
    Erased,
    Expected,
    Forgotten,
    GridVector,
    Ingested,
    MemoryId,
    Reembedded,
    Restored,
    Revised,
    Superseded,
)

KIND = "erased"

Recentre = Callable[[Cluster], GridVector]
Value = TypeVar("Value")

_replace = msgspec.structs.replace


def stripped(  # noqa: PLR0911 (one return per kind)
    fact: AnyFact, ids: Collection[MemoryId], recentre: Recentre
) -> AnyFact | None:
    """The fact without words and vectors of these memories; None if there is nothing to remove.

    `recentre` gives the centroid of a cluster without these memories.
    """
    match fact:
        case Ingested(id=id_) if id_ in ids:
            return _bare_birth(fact)
        case Revised(id=id_) if id_ in ids:
            return _bare_revision(fact)
        case Reembedded(vectors=vectors) if any(vector and id_ in ids for id_, vector in vectors):
            return _replace(fact, vectors=tuple((id_, b"" if id_ in ids else v) for id_, v in vectors))
        case Clustered(clusters=clusters):
            bare = tuple(_bare_cluster(cluster, ids, recentre) for cluster in clusters)
            return None if bare == clusters else _replace(fact, clusters=bare)
        case Forgotten(id=id_) | Restored(id=id_) | Erased(id=id_) if fact.reason and id_ in ids:
            return _replace(fact, reason="")
        case Superseded(old=old, new=new) if fact.reason and (old in ids or new in ids):
            return _replace(fact, reason="")
        case Expected(id=id_, above=above) if fact.note and (id_ in ids or above in ids):
            return _replace(fact, note="")
        case _:
            return None


def without(erased: Erased, seqs: Container[int]) -> Erased | None:
    """An earlier erasure without the remains at these positions; None if it has no remains there."""
    kept = tuple(one for one in erased.remains if one.seq not in seqs)
    return None if len(kept) == len(erased.remains) else _replace(erased, remains=kept)


def _bare_birth(fact: Ingested) -> Ingested:
    return Ingested(
        id=fact.id,
        content="",
        at=fact.at,
        kind=KIND,
        importance=fact.importance,
        priority=fact.priority,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        expires_at=fact.expires_at,
        trust=fact.trust,
    )


def _bare_revision(fact: Revised) -> Revised:
    """Keep set fields set, so that versions are counted and rows numbered as before."""
    return _replace(
        fact,
        content=_set(fact.content, ""),
        vector=_set(fact.vector, None),
        embedder=_set(fact.embedder, None),
        kind=_set(fact.kind, KIND),
        tags=_set(fact.tags, ()),
        entities=_set(fact.entities, ()),
        project=_set(fact.project, None),
        session=_set(fact.session, None),
        source=_set(fact.source, None),
        importance_tag=_set(fact.importance_tag, None),
        key=_set(fact.key, None),
    )


def _set(before: object, value: Value) -> Value | UnsetType:
    return UNSET if before is UNSET else value


def _bare_cluster(cluster: Cluster, ids: Collection[MemoryId], recentre: Recentre) -> Cluster:
    """A cluster of members that stay, around their own centre; the erased ones are still named."""
    if not cluster.centroid or not any(id_ in ids for id_ in cluster.members):
        return cluster
    staying = tuple(id_ for id_ in cluster.members if id_ not in ids)
    return _replace(cluster, centroid=recentre(_replace(cluster, members=staying)))
