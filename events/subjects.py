"""What an event is about: the memories that it names and the session that it happened in."""

from __future__ import annotations

from typing import assert_never

from recollect.events.facts import (
    Accessed,
    AnyFact,
    Attested,
    ClockCorrected,
    Clustered,
    Consolidated,
    Downscaled,
    DreamBegan,
    DreamEnded,
    EmbedderAdopted,
    Erased,
    ExpectationWithdrawn,
    Expected,
    Forgotten,
    FormulaAdopted,
    Ingested,
    Linked,
    MemoryId,
    Placed,
    Promoted,
    Pruned,
    Rated,
    Recalled,
    Recovered,
    Redacted,
    Reembedded,
    Restored,
    Revised,
    ShardRetired,
    ShardSealed,
    Stabilized,
    Superseded,
    Unknown,
    Unlinked,
)


def memories_of(fact: AnyFact | Unknown | Redacted) -> tuple[MemoryId, ...]:  # noqa: PLR0911 (one line per kind)
    """The memories that a fact names, each once, in its order; empty if it concerns all memories."""
    match fact:
        case Ingested(id=id_) | Revised(id=id_) | Forgotten(id=id_) | Restored(id=id_):
            return (id_,)
        case Erased(id=id_) | Rated(id=id_):
            return (id_,) if id_ else ()
        case Superseded(old=one, new=other) | Linked(a=one, b=other) | Unlinked(a=one, b=other):
            return tuple(dict.fromkeys((one, other)))
        case Expected(id=id_, above=above):
            return (id_,) if above is None else tuple(dict.fromkeys((id_, above)))
        case Accessed(ids=ids) | Recalled(ids=ids):
            return tuple(dict.fromkeys(ids))
        case Reembedded(vectors=vectors):
            return tuple(dict.fromkeys(id_ for id_, _ in vectors))
        case Clustered(clusters=clusters):
            return tuple(dict.fromkeys(id_ for cluster in clusters for id_ in cluster.members))
        case Consolidated() | Stabilized() | Placed() | Promoted():
            return tuple(dict.fromkeys(change.id for change in fact.changes))
        case Pruned(items=items):
            return tuple(dict.fromkeys(item.id for item in items))
        case Redacted(remains=Ingested(id=id_) | Revised(id=id_)):
            return (id_,)
        case (
            Downscaled() | DreamBegan() | DreamEnded() | FormulaAdopted() | EmbedderAdopted() | ShardSealed()
            | ShardRetired() | ExpectationWithdrawn() | Recovered() | ClockCorrected() | Attested() | Unknown() | Redacted()
        ):  # fmt: skip
            return ()
        case _:
            assert_never(fact)


def session_of(fact: AnyFact | Unknown | Redacted) -> str | None:
    """The session that a fact happened in, if it says so."""
    match fact:
        case Ingested(session=session) | Accessed(session=session) | Rated(session=session):
            return session
        case Revised(session=str(session)):
            return session
        case Recalled(question=question):
            return question.session
        case _:
            return None
