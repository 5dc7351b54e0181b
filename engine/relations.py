"""Judging and relating memories: rate, link, unlink, supersede. Each returns the seq of its event."""

from __future__ import annotations

import math

from recollect.engine import validate
from recollect.engine.names import memory_named, pair_named
from recollect.engine.remember import recorded_recall
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.writer import Writer, require_visible
from recollect.events.errors import InvalidInput
from recollect.events.facts import Linked, Rated, Superseded, Unlinked
from recollect.projections.view import View

SUPERSEDES = "supersedes"
_WEIGHT_MAX = 1e6


def rate(writer: Writer, name: str, verdict: str, *, recall: str | None, session: str | None) -> int:
    """Judge a memory, perhaps as part of one answer."""
    memory_id = memory_named(writer.store, name)
    fact = Rated(
        id=memory_id,
        verdict=validate.verdict(verdict),
        at=writer.store.clock(),
        recall=None if recall is None else recorded_recall(writer.store, recall),
        session=validate.optional_identifier(session, "session"),
    )
    return writer.append_if(lambda view: require_visible(writer.store, view, memory_id), fact)


def link(writer: Writer, a: str, b: str, kind: str, weight: float) -> int:
    """A typed weighted edge from a to b; the same edge again replaces its weight.

    That a supersedes b takes effect at once: it is `supersede`, and not an edge that the next dream would act upon.
    """
    a, b = pair_named(writer.store, a, b)
    if kind == SUPERSEDES:
        if weight != 1.0:
            raise InvalidInput("one memory supersedes another or does not; leave the weight out")
        return supersede(writer, b, a, "")
    fact = Linked(
        a=a,
        b=b,
        kind=validate.identifier(kind, "kind"),
        weight=validate.number(weight, "weight", low=0.0, high=_WEIGHT_MAX),
    )
    return writer.append_if(lambda view: _require_pair(writer.store, view, a, b, "link"), fact)


def unlink(writer: Writer, a: str, b: str, kind: str | None) -> int:
    """Take an edge from a to b away, or every edge between them in that direction."""
    a, b = pair_named(writer.store, a, b)
    wanted = validate.optional_identifier(kind, "kind")
    fact = Unlinked(a=a, b=b, kind=wanted)
    return writer.append_if(lambda view: _require_edge(writer.store, view, a, b, wanted), fact)


def supersede(writer: Writer, old: str, new: str, reason: str) -> int:
    """One memory takes the place of another, which no longer answers until it is restored."""
    old, new = pair_named(writer.store, old, new)
    fact = Superseded(old=old, new=new, reason=validate.text(reason, "reason"))
    return writer.append_if(lambda view: _require_pair(writer.store, view, old, new, "supersede"), fact)


def _require_pair(store: Store, view: View, a: str, b: str, what: str) -> None:
    if a == b:
        raise InvalidInput(f"cannot {what} memory {a!r} and itself; name two memories")
    require_visible(store, view, a, b)


def _require_edge(store: Store, view: View, a: str, b: str, kind: str | None) -> None:
    _require_pair(store, view, a, b, "unlink")
    standing = _edge_kinds(store, view, a, b)
    if not standing or kind not in (None, *standing):
        others = f", only {', '.join(standing)}" if standing else ""
        which = "edge" if kind is None else f"edge {kind!r}"
        raise InvalidInput(f"there is no {which} from {a!r} to {b!r}{others}; there is nothing to unlink")


@locked
def _edge_kinds(store: Store, view: View, a: str, b: str) -> list[str]:  # noqa: ARG001 (its lock is held)
    """The kinds of the edges from a to b."""
    first, second = view.documents.ids.find(a), view.documents.ids.find(b)
    edges = view.graph.edges_of(first, view.seq, direction="out", min_weight=-math.inf)
    return sorted(edge.kind for edge in edges if edge.b == second)
