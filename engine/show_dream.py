"""One dream as the log has it: what each phase changed, before → after, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from recollect.dream.measure import AnswerChange, changed, ranked_twice
from recollect.dream.phase import EVERY_MEMORY, Change, Value
from recollect.engine.dream import asked_before
from recollect.engine.event_summaries import shorten
from recollect.engine.moments import iso
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.events import facts
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.projections.adoptions import Dream

_QUESTIONS = 50
_Row = tuple[str, str, Value, Value, str]
"""A memory, what of it changed, before, after, and why."""
_Fact = facts.AnyFact | facts.Unknown | facts.Redacted
_PHASE_OF: dict[type, str] = {
    facts.Consolidated: "consolidate", facts.Downscaled: "downscale", facts.Stabilized: "stabilize", facts.Ingested: "summarise",
    facts.Pruned: "prune", facts.Placed: "place", facts.Promoted: "promote", facts.Clustered: "cluster",
}  # fmt: skip


class ShownDream(msgspec.Struct, frozen=True, kw_only=True, tag_field="thing", tag="dream"):
    """All that is known of a dream; `undoes` names the one that it took back, `undone_at` the seq where it was.

    In a change the memory `*` is every memory. `phases` says how many of the changes, in their order, each phase made.
    `counts` and `metrics` are the dream's own report.
    """

    id: str
    at: str
    began: int
    ended: int
    basis: int
    now: str
    changes: tuple[Change, ...]
    phases: tuple[tuple[str, int], ...]
    counts: dict[str, int]
    metrics: dict[str, float]
    settings: str
    undoes: str | None
    undone_at: int | None


class PastDream(msgspec.Struct, frozen=True, kw_only=True):
    """A dream of the past, or the undoing of one: its events, and how many changes each phase made (`counts`).

    `undoes` names the dream that it took back, `undone_at` is the seq where it was taken back itself.
    """

    id: str
    at: str
    began: int
    seq: int
    counts: dict[str, int]
    undoes: str | None
    undone_at: int | None


@locked
def past_dreams(store: Store) -> tuple[PastDream, ...]:
    """Every finished dream and undoing, the newest first."""
    store.catch_up()
    adoptions = store.projections.adoptions
    every = sorted((*adoptions.dreams, *adoptions.undoings), key=lambda one: -one.ended)
    return tuple(_past(store, one) for one in every)


def _past(store: Store, dream: Dream) -> PastDream:
    began, ended = store.event(dream.began).fact, store.event(dream.ended)
    assert isinstance(began, facts.DreamBegan)
    assert isinstance(ended.fact, facts.DreamEnded)
    return PastDream(
        id=dream.id,
        at=iso(ended.at),
        began=dream.began,
        seq=dream.ended,
        counts=ended.fact.counts,
        undoes=began.undoes,
        undone_at=dream.undone_at or None,
    )


@locked
def dream_effect(store: Store, dream_id: str) -> tuple[AnswerChange, ...]:
    """The last questions before a dream whose answers it changed, ranked right before and right after it."""
    store.catch_up()
    adoptions = store.projections.adoptions
    dream = next((one for one in (*adoptions.dreams, *adoptions.undoings) if one.id == dream_id), None)
    if dream is None:
        raise InvalidInput(f"the log has no dream {dream_id!r}; `recollect timeline` names them")
    asked = asked_before(store, _QUESTIONS, dream.began)
    store.require_analyzers(sorted({name for one in asked for name in one.formula.analyzers}))
    before, after = (
        store.projections.at(seq, store.log.time_of(seq)) for seq in (dream.began - 1, dream.ended)
    )
    return changed(ranked_twice(asked, before, after))


@locked
def show_dream(store: Store, dream: Dream) -> ShownDream:
    """A dream, or the undoing of one, from its events."""
    began, ended = store.event(dream.began).fact, store.event(dream.ended).fact
    assert isinstance(began, facts.DreamBegan)
    assert isinstance(ended, facts.DreamEnded)
    events = store.log.read(dream.began, dream.ended - 1)
    rows = [(phase, row) for phase, fact in _by_phase(events, began) for row in _changes(fact)]
    return ShownDream(
        id=dream.id,
        at=iso(store.event(dream.ended).at),
        began=dream.began,
        ended=dream.ended,
        basis=began.basis,
        now=iso(began.now),
        changes=tuple(
            Change(id=id_, what=what, before=before, after=after, why=why)
            for _, (id_, what, before, after, why) in rows
        ),
        phases=tuple((phase, len(list(made))) for phase, made in groupby(rows, key=lambda one: one[0])),
        counts=ended.counts,
        metrics=ended.metrics,
        settings=began.settings,
        undoes=began.undoes,
        undone_at=dream.undone_at or None,
    )


def _by_phase(events: Iterable[Recorded], began: facts.DreamBegan) -> Iterator[tuple[str, _Fact]]:
    """Each fact with the phase that made it: links and the like belong to the phase before them."""
    phase = "consolidate" if began.undoes is None else "undo"
    for event in events:
        if began.undoes is None:
            phase = _PHASE_OF.get(type(event.fact), phase)
        yield phase, event.fact


def _changes(fact: _Fact) -> Iterator[_Row]:
    match fact:
        case facts.Consolidated(changes=strengths, pairs=pairs):
            for strength in strengths:
                yield strength.id, "strength", strength.before, strength.after, "replayed in the dream"
            for pair in pairs:
                yield pair.new, "pair", None, pair.decision, f"similarity {pair.similarity:.4g} to {pair.old}"
        case facts.Downscaled(undoes=int(seq)):
            yield EVERY_MEMORY, "strength", None, None, f"the downscale of @{seq} no longer counts"
        case facts.Downscaled(factor=factor, tagged_factor=tagged, floor=floor):
            why = f"every strength × {factor:g} ({tagged:g} where tagged), not below {floor:g}"
            yield EVERY_MEMORY, "strength", 1.0, factor, why
        case facts.Stabilized(changes=changes):
            for one in changes:
                yield one.id, "stability", one.before, one.after, "recalls and failures since"
        case facts.Pruned(items=items):
            for item in items:
                numbers = ", ".join(f"{name} {number:g}" for name, number in item.numbers.items())
                why = f"{item.reason} ({numbers})" if numbers else item.reason
                yield item.id, "visibility", "visible", "pruned", why
        case facts.Placed():
            yield from _placed(fact)
        case facts.Promoted():
            yield from _promoted(fact)
        case _:
            yield from _told(fact)


def _placed(fact: facts.Placed) -> Iterator[_Row]:
    for one in fact.changes:
        moves = (("status", one.status_before, one.status), ("depth", one.depth_before, one.depth))
        yield from _moved(one.id, moves, "its activity")
        if one.restabilized:
            yield one.id, "restabilised", "labile", "stable", "recalled since the last dream"


def _promoted(fact: facts.Promoted) -> Iterator[_Row]:
    for one in fact.changes:
        moves = (("layer", one.layer_before, one.layer), ("depth", one.depth_before, one.depth))
        yield from _moved(one.id, moves, "its depth and use")


def _moved(id_: str, moves: Iterable[tuple[str, Value, Value]], why: str) -> Iterator[_Row]:
    for what, before, after in moves:
        if before != after:
            yield id_, what, before, after, why


def _told(fact: _Fact) -> Iterator[_Row]:
    """What a dream tells beside the changes of its phases: summaries, links, clusters, what an undoing brings back."""
    match fact:
        case facts.Ingested(id=id_, content=content, kind=kind):
            yield id_, "memory", None, kind, f"made: {shorten(content, None)}"
        case facts.Superseded(old=old, new=new, reason=reason):
            yield old, "visibility", "visible", f"superseded by {new}", reason
        case facts.Restored(id=id_, reason=reason):
            yield id_, "visibility", "hidden", "visible", reason
        case facts.Linked(a=a, b=b, kind=kind, weight=weight):
            yield a, f"link {kind}", None, weight, f"to {b}"
        case facts.Clustered(method=method, clusters=clusters):
            yield EVERY_MEMORY, "clusters", None, float(len(clusters)), f"by {method}"
        case facts.Redacted():
            yield EVERY_MEMORY, "event", None, None, "erased since"
        case _:
            return
