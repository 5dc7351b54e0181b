"""Judging and relating memories: rate, link, unlink, supersede. Mixed into `Memory`."""

from __future__ import annotations

import math
from collections.abc import Callable

from recollect.engine import validate
from recollect.engine.store import Store
from recollect.events.errors import InvalidInput
from recollect.events.facts import AnyFact, Linked, Rated, Superseded, Unlinked

_WEIGHT_MAX = 1e6


class Relating:
    """What an open store can be told about memories that it has."""

    _store: Store

    def rate(
        self,
        id: str,  # noqa: A002 (the word callers know)
        verdict: str,
        *,
        recall: str | None = None,
        session: str | None = None,
    ) -> int:
        """Judge a memory helpful, unhelpful or outdated, perhaps as part of one answer; returns the seq."""
        fact = Rated(
            id=id,
            verdict=validate.verdict(verdict),
            at=self._store.clock(),
            recall=None if recall is None else self._recall_seq(recall),
            session=validate.optional_identifier(session, "session"),
        )
        return self._append_if(lambda: self._visible(id), fact)

    def link(self, a: str, b: str, kind: str, weight: float = 1.0) -> int:
        """A typed weighted edge from a to b; the same edge again replaces its weight. Returns the seq."""
        fact = Linked(
            a=a,
            b=b,
            kind=validate.identifier(kind, "kind"),
            weight=validate.number(weight, "weight", low=0.0, high=_WEIGHT_MAX),
        )
        return self._append_if(lambda: self._pair(a, b, "link"), fact)

    def unlink(self, a: str, b: str, kind: str | None = None) -> int:
        """Take an edge from a to b away, or every edge between them in that direction. Returns the seq."""
        wanted = validate.optional_identifier(kind, "kind")
        return self._append_if(lambda: self._require_edge(a, b, wanted), Unlinked(a=a, b=b, kind=wanted))

    def _require_edge(self, a: str, b: str, kind: str | None) -> None:
        self._pair(a, b, "unlink")
        standing = self._kinds(a, b)
        if not standing or kind not in (None, *standing):
            others = f", only {', '.join(standing)}" if standing else ""
            which = "edge" if kind is None else f"edge {kind!r}"
            raise InvalidInput(f"there is no {which} from {a!r} to {b!r}{others}; there is nothing to unlink")

    def _kinds(self, a: str, b: str) -> list[str]:
        """The kinds of the edges from a to b."""
        view = self._store.view()
        with self._store.lock, self._store.whole:
            first, second = view.documents.ids.find(a), view.documents.ids.find(b)
            edges = view.graph.edges_of(first, view.seq, direction="out", min_weight=-math.inf)
        return sorted(edge.kind for edge in edges if edge.b == second)

    def supersede(self, old: str, new: str, reason: str = "") -> int:
        """One memory takes the place of another, which no longer answers until it is restored. Returns the seq."""
        fact = Superseded(old=old, new=new, reason=validate.text(reason, "reason"))
        return self._append_if(lambda: self._pair(old, new, "supersede"), fact)

    def _pair(self, a: str, b: str, what: str) -> None:
        if a == b:
            raise InvalidInput(f"cannot {what} memory {a!r} and itself; name two memories")
        self._visible(a)
        self._visible(b)

    def _visible(self, memory_id: str) -> int:
        raise NotImplementedError

    def _recall_seq(self, recall: str) -> int:
        raise NotImplementedError

    def _append_if(self, check: Callable[[], object], fact: AnyFact) -> int:
        raise NotImplementedError
