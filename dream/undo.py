"""Undo: the facts that take a dream back, value by value.

What is still as the dream left it gets the value it had before; what has changed since is named and left alone.
A strength has changed if something other than a downscale set it since; downscales of later dreams are carried
over to the value that is restored. The undoing is a dream of its own that names the one it undoes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from recollect.dream.phase import Change, Value
from recollect.events.envelope import Recorded
from recollect.events.facts import (
    AnyFact,
    Clustered,
    Consolidated,
    Downscaled,
    Forgotten,
    Ingested,
    Linked,
    MemoryId,
    Placed,
    Placement,
    Promoted,
    Promotion,
    Pruned,
    Restored,
    StabilityChange,
    Stabilized,
    StrengthChange,
    Superseded,
    Unlinked,
)
from recollect.projections.adoptions import Dream
from recollect.projections.columns import FloatArray, IntArray
from recollect.projections.lifecycle.condition import PRUNED, STATUSES, SUPERSEDED, VISIBLE
from recollect.projections.lifecycle.lifecycle import LifecycleColumns
from recollect.projections.view import View

_SAME = 1e-9
_SINCE = "changed since the dream; left as it is"


class Span(NamedTuple):
    """A dream between two views: right before it, right after it, and now; and the fact at any seq."""

    dream: Dream
    before: View
    after: View
    now: View
    fact_at: Callable[[int], object]


class Undoing(NamedTuple):
    facts: tuple[AnyFact, ...]
    changes: tuple[Change, ...]
    left: tuple[Change, ...]


class _Undo:
    """The facts so far. `memories` of one kind of fact are looked at together."""

    def __init__(self, span: Span, undoing: str) -> None:
        self.span = span
        self.id = undoing
        self.facts: list[AnyFact] = []
        self.changes: list[Change] = []
        self.left: list[Change] = []

    # --- what columns say --------------------------------------------------------------------------

    def columns(self, ids: Sequence[MemoryId]) -> tuple[LifecycleColumns, LifecycleColumns, LifecycleColumns]:
        """Before, after and now."""
        memories = self.memories(ids)
        views = (self.span.before, self.span.after, self.span.now)
        before, after, now = (view.lifecycle.at(memories, view.seq) for view in views)
        return before, after, now

    def memories(self, ids: Iterable[MemoryId]) -> IntArray:
        return np.array([self.span.now.documents.ids.find(id_) for id_ in ids], dtype=np.int64)

    def note(self, id_: MemoryId, what: str, now: Value, target: Value, *, unchanged: bool) -> bool:
        """Whether a value is to be restored; says so, or that it is left."""
        why = f"dream {self.span.dream.id} undone" if unchanged else _SINCE
        change = Change(id=id_, what=what, before=now, after=target if unchanged else now, why=why)
        if not unchanged:
            self.left.append(change)
        elif now != target:
            self.changes.append(change)
        return unchanged

    # --- strengths and stabilities -----------------------------------------------------------------

    def strengths(self, ids: Sequence[MemoryId]) -> None:
        before, after, now = self.columns(ids)
        ended = self.span.dream.ended
        target: FloatArray = now.downscaled(before.strength, ended)
        carried: FloatArray = now.downscaled(after.strength, ended)
        untouched = now.strength_seq == after.strength_seq
        restored = []
        for place, id_ in enumerate(ids):
            value = float(now.strength[place])
            same = bool(untouched[place]) or math.isclose(value, carried[place], rel_tol=_SAME)
            if self.note(id_, "strength", value, float(target[place]), unchanged=same):
                restored.append(StrengthChange(id=id_, before=value, after=float(target[place])))
        if restored:
            self.facts.append(Consolidated(dream=self.id, changes=tuple(restored)))

    def stabilities(self, ids: Sequence[MemoryId]) -> None:
        before, after, now = (columns.stability.tolist() for columns in self.columns(ids))
        restored = [
            StabilityChange(id=id_, before=now[place], after=before[place])
            for place, id_ in enumerate(ids)
            if self.note(id_, "stability", now[place], before[place], unchanged=now[place] == after[place])
        ]
        if restored:
            self.facts.append(Stabilized(dream=self.id, changes=tuple(restored)))

    # --- places and layers -------------------------------------------------------------------------

    def places(self, ids: Sequence[MemoryId]) -> None:
        columns = self.columns(ids)
        was_status, left_status, status = (
            [STATUSES[code] for code in one.status.tolist()] for one in columns
        )
        was_depth, left_depth, depth = (one.depth_score.tolist() for one in columns)
        restored = []
        for i, id_ in enumerate(ids):
            back = self.note(id_, "status", status[i], was_status[i], unchanged=status[i] == left_status[i])
            up = self.note(id_, "depth", depth[i], was_depth[i], unchanged=depth[i] == left_depth[i])
            placement = Placement(
                id=id_,
                status_before=status[i],
                status=was_status[i] if back else status[i],
                depth_before=depth[i],
                depth=was_depth[i] if up else depth[i],
            )
            if (placement.status, placement.depth) != (status[i], depth[i]):
                restored.append(placement)
        if restored:
            self.facts.append(Placed(dream=self.id, changes=tuple(restored)))

    def layers(self, ids: Sequence[MemoryId]) -> None:
        """After `places`, which restores the depth of these as well."""
        columns = self.columns(ids)
        was, left, layer = ([text or "" for text in one.texts(one.layer)] for one in columns)
        was_depth, left_depth, depth = (one.depth_score.tolist() for one in columns)
        restored = [
            Promotion(
                id=id_,
                layer_before=layer[i],
                layer=was[i],
                depth_before=(held := was_depth[i] if depth[i] == left_depth[i] else depth[i]),
                depth=held,
            )
            for i, id_ in enumerate(ids)
            if self.note(id_, "layer", layer[i], was[i], unchanged=layer[i] == left[i])
        ]
        if restored:
            self.facts.append(Promoted(dream=self.id, changes=tuple(restored)))

    # --- what was hidden, made and linked ------------------------------------------------------------

    def hidden(self, ids: Sequence[MemoryId], seq: int, how: int) -> None:
        """Bring back what the event at `seq` hid."""
        _, _, now = self.columns(ids)
        word = "pruned" if how == PRUNED else "superseded"
        for place, id_ in enumerate(ids):
            same = int(now.visibility[place]) == how and int(now.visibility_seq[place]) == seq
            if self.note(id_, "visibility", word, "visible", unchanged=same):
                self.facts.append(Restored(id=id_, reason=f"dream {self.span.dream.id} undone"))

    def made(self, fact: Ingested) -> None:
        _, _, now = self.columns([fact.id])
        same = int(now.visibility[0]) == VISIBLE and int(now.revision_count[0]) == 1
        if self.note(fact.id, "memory", "derived", None, unchanged=same):
            self.facts.append(Forgotten(id=fact.id, reason=f"dream {self.span.dream.id} undone"))

    def linked(self, fact: Linked, seq: int) -> None:
        a, b = self.memories([fact.a, fact.b]).tolist()
        now = self.span.now
        edges = now.graph.edges_of(a, now.seq, direction="out", kinds=(fact.kind,))
        same = any(edge.b == b and edge.added == seq for edge in edges)
        if self.note(fact.a, f"edge {fact.kind} to {fact.b}", fact.weight, None, unchanged=same):
            self.facts.append(Unlinked(a=fact.a, b=fact.b, kind=fact.kind))

    def clustered(self, seq: int) -> None:
        graph = self.span.now.graph
        same = graph.clusters.assigned(self.span.now.seq) == seq
        earlier = graph.clusters.assigned(self.span.before.seq)
        count, was = len(graph.clusters.at(self.span.now.seq)), len(graph.clusters.at(self.span.before.seq))
        if not self.note("*", "clusters", count, was, unchanged=same):
            return
        fact = self.span.fact_at(earlier) if earlier else None
        if isinstance(fact, Clustered):
            self.facts.append(Clustered(method=fact.method, clusters=fact.clusters, dream=self.id))
        else:
            self.facts.append(Clustered(method="none", clusters=(), dream=self.id))


def undo(span: Span, events: Iterable[Recorded], *, undoing: str) -> Undoing:
    """The facts that take back the events of a dream."""
    work = _Undo(span, undoing)
    placed: dict[MemoryId, None] = {}
    promoted: dict[MemoryId, None] = {}
    for recorded in events:
        match recorded.fact:
            case Consolidated(changes=strengths):
                work.strengths([change.id for change in strengths])
            case Downscaled(undoes=None):
                work.facts.append(Downscaled(dream=undoing, undoes=recorded.seq))
            case Stabilized(changes=stabilities):
                work.stabilities([change.id for change in stabilities])
            case Pruned(items=items):
                work.hidden([item.id for item in items], recorded.seq, PRUNED)
            case Superseded(old=old):
                work.hidden([old], recorded.seq, SUPERSEDED)
            case Placed(changes=placements):
                placed.update((change.id, None) for change in placements)
            case Promoted(changes=promotions):
                promoted.update((change.id, None) for change in promotions)
            case Linked() as linked:
                work.linked(linked, recorded.seq)
            case Ingested() as made:
                work.made(made)
            case Clustered():
                work.clustered(recorded.seq)
            case _:
                pass
    work.places(list(placed | promoted))
    work.layers(list(promoted))
    return Undoing(tuple(work.facts), tuple(work.changes), tuple(work.left))
