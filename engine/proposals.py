"""Proposals: pairs that a dream found to be duplicates or contradictions, and what becomes of them.

A proposal is recorded with the dream that made it and changes no ranking. It is open while both memories answer and
nothing says that one supersedes or contradicts the other; a dream that was taken back proposes nothing. Accepting one
writes what it proposes, decided where it is written. Its id is `p`, the seq of its event, a dash and its number there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypedDict

import msgspec

from recollect.dream.propose import CONTRADICTION, DUPLICATE, RESOLVED, accepted
from recollect.engine.memories import memo
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.relations import link, supersede
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Consolidated, MemoryId, PairDecision, Pairing, Superseded
from recollect.events.log import facts_of
from recollect.projections.view import View


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A newer memory and an older one, what they are to each other, and how many answers accepting it would change.

    `answers` were counted over the last recorded questions when the dream proposed it.
    """

    id: str
    kind: PairDecision
    new: MemoryId
    new_content: str
    old: MemoryId
    old_content: str
    cosine: float
    answers: int
    dream: str


class _Recorded(NamedTuple):
    id: str
    dream: str
    pairing: Pairing


def proposed_pairs(store: Store) -> frozenset[tuple[MemoryId, MemoryId]]:
    """The pairs that a dream proposed before, (new, old); not those of dreams that were taken back."""
    return frozenset((one.pairing.new, one.pairing.old) for one in _recorded(store, store.view()))


class ProposalOptions(TypedDict, total=False):
    """Which proposals are accepted, by their ids, and how."""

    accept: Iterable[str]
    supersede: bool


def proposals(writer: Writer, options: ProposalOptions) -> list[Proposal]:
    """The proposals that are open, newest first, after accepting some."""
    refuse_unknown(options, ProposalOptions.__annotations__)
    for id_ in dict.fromkeys(options.get("accept", ())):
        _accept(writer, id_, supersede_it=options.get("supersede", False))
    return _open(writer.store, writer.store.view())[::-1]


def _accept(writer: Writer, id_: str, *, supersede_it: bool) -> int:
    """Write what a proposal proposes, or with `supersede_it` that the newer memory supersedes the older."""
    found = {one.id: one for one in proposals(writer, {})}
    if id_ not in found:
        there = ", ".join(list(found)[:5]) or "none"
        raise InvalidInput(f"{id_!r} is no open proposal; open are {there}")
    one = found[id_]
    if supersede_it or isinstance(accepted(one.new, one.old, one.kind), Superseded):
        return supersede(writer, one.old, one.new, f"accepted {id_}")
    return link(writer, one.new, one.old, "contradicts", 1.0)


@locked
def _open(store: Store, view: View) -> list[Proposal]:
    return [
        one for recorded in _recorded(store, view) if (one := _if_open(store, view, recorded)) is not None
    ]


def _recorded(store: Store, view: View) -> Iterator[_Recorded]:
    undone = {dream.id for dream in view.adoptions.dreams if 0 < dream.undone_at <= view.seq}
    for seq, fact in facts_of(store.log, Consolidated):
        if fact.dream in undone or seq > view.seq:
            continue
        for number, pairing in enumerate(fact.pairs, 1):
            if pairing.decision in (DUPLICATE, CONTRADICTION):
                yield _Recorded(f"p{seq}-{number}", fact.dream, pairing)


def _if_open(store: Store, view: View, recorded: _Recorded) -> Proposal | None:
    pairing = recorded.pairing
    try:
        new, old = memo(store, view, pairing.new), memo(store, view, pairing.old)
    except UnknownMemory:
        return None
    if not (new.visible and old.visible):
        return None
    find = view.documents.ids.find
    kinds = [kind for kind in RESOLVED if kind in view.graph.edges.kinds]
    edges = view.graph.edges_of(find(new.id), view.seq, kinds=kinds)
    if any(edge.other(find(new.id)) == find(old.id) for edge in edges):
        return None
    return Proposal(
        id=recorded.id, kind=pairing.decision, new=new.id, new_content=new.content, old=old.id, old_content=old.content,
        cosine=pairing.similarity, answers=pairing.answers, dream=recorded.dream,
    )  # fmt: skip
