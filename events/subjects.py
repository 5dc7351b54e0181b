"""What an event is about: the memories that it names and the session that it happened in."""

from __future__ import annotations

from typing import assert_never

from recollect.events import facts


def memories_of(fact: facts.AnyFact | facts.Unknown | facts.Redacted) -> tuple[facts.MemoryId, ...]:  # noqa: PLR0911 (one line per kind)
    """The memories that a fact names, each once, in its order; empty if it concerns all memories."""
    match fact:
        case (
            facts.Ingested(id=id_) | facts.Revised(id=id_) | facts.Forgotten(id=id_) | facts.Restored(id=id_)
        ):
            return (id_,)
        case facts.Erased(id=id_) | facts.Rated(id=id_):
            return (id_,) if id_ else ()
        case (
            facts.Superseded(old=one, new=other)
            | facts.Linked(a=one, b=other)
            | facts.Unlinked(a=one, b=other)
        ):
            return tuple(dict.fromkeys((one, other)))
        case facts.Expected(id=id_, above=above):
            return (id_,) if above is None else tuple(dict.fromkeys((id_, above)))
        case facts.Accessed(ids=ids) | facts.Recalled(ids=ids):
            return tuple(dict.fromkeys(ids))
        case facts.Reembedded(vectors=vectors):
            return tuple(dict.fromkeys(id_ for id_, _ in vectors))
        case facts.Clustered(clusters=clusters):
            return tuple(dict.fromkeys(id_ for cluster in clusters for id_ in cluster.members))
        case facts.Consolidated() | facts.Stabilized() | facts.Placed() | facts.Promoted():
            return tuple(dict.fromkeys(change.id for change in fact.changes))
        case facts.Pruned(items=items):
            return tuple(dict.fromkeys(item.id for item in items))
        case facts.Redacted(remains=facts.Ingested(id=id_) | facts.Revised(id=id_)):
            return (id_,)
        case (
            facts.Downscaled() | facts.DreamBegan() | facts.DreamEnded() | facts.FormulaAdopted()
            | facts.EmbedderAdopted() | facts.ShardSealed() | facts.ShardRetired() | facts.ExpectationWithdrawn()
            | facts.Recovered() | facts.ClockCorrected() | facts.Attested() | facts.Unknown() | facts.Redacted()
        ):  # fmt: skip
            return ()
        case _:
            assert_never(fact)


def session_of(fact: facts.AnyFact | facts.Unknown | facts.Redacted) -> str | None:
    """The session that a fact happened in, if it says so."""
    match fact:
        case facts.Ingested(session=session) | facts.Accessed(session=session) | facts.Rated(session=session):
            return session
        case facts.Revised(session=str(session)):
            return session
        case facts.Recalled(question=question):
            return question.session
        case _:
            return None
