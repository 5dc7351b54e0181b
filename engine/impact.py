"""impact: which recorded answers held a memory, and what each would have been had it never been told.

Every such recall is ranked twice at its own basis, formula and clock: in the store, and in one that is folded from the
log without the memory (`replay.without`). Vectors are compared one by one on both sides, so that the two differ by the
memory alone. Nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from recollect.engine import validate
from recollect.engine.erase import with_derived
from recollect.engine.memories import memo
from recollect.engine.moments import iso
from recollect.engine.names import memory_named
from recollect.engine.recalls import those_that_held
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.events.envelope import Recorded
from recollect.events.facts import Accessed, MemoryId, Question, Recalled
from recollect.events.redacted_log import ErasedMeanwhile
from recollect.projections.view import Projections, View
from recollect.query.formula import Formula
from recollect.query.ranking import rank_around
from recollect.replay.verify import formula_of
from recollect.replay.without import projections_without, question_without, scanning


class ImpactedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded answer that held the memory, at `rank`, and its ids `without` it; None if that cannot be said (`problem`).

    `entered` are the memories that would have come in. `replayed` says that the answer comes out as recorded where the
    memory is there and vectors are compared one by one; `used`, that the memory was used or injected afterwards.
    """

    recall: str
    at: str
    query: str
    session: str | None
    actor: str
    rank: int
    ids: tuple[MemoryId, ...]
    without: tuple[MemoryId, ...] | None = None
    entered: tuple[MemoryId, ...] = ()
    changed: bool = False
    first_changed: bool = False
    replayed: bool = False
    used: bool = False
    problem: str = ""


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was made from the one in question, directly or by way of another."""

    id: MemoryId
    content: str
    visible: bool


class Impact(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory did: the `answers` that held it, newest first, and how many would have been `changed` without it.

    `first_changed` counts those with another first hit, or none; `unknown` those that cannot be ranked again. `sessions`
    are the sessions that were told, with the number of their answers.
    """

    id: MemoryId
    content: str
    basis: int
    answers: tuple[ImpactedAnswer, ...]
    changed: int
    first_changed: int
    unknown: int
    used: int
    sessions: dict[str, int]
    derived: tuple[Derived, ...]


class _Held(NamedTuple):
    """A recorded recall that held the memory, and its formula; None if the log has no text of it."""

    recorded: Recorded
    recalled: Recalled
    formula: Formula | None


def impact(store: Store, name: str, progress: Progress | None = None) -> Impact:
    """Every recorded answer that held a memory, each with what it would have been without it."""
    view = store.view()
    known = memo(store, view, memory_named(store, name))
    held = _held(store, known.id)
    used = _used(store, known.id, [one.recorded.seq for one in held])
    analyzers = {name for one in held if one.formula for name in one.formula.analyzers}
    upto = max((one.recalled.basis for one in held), default=0)
    other = folded_without(store, [known.id], analyzers, upto=upto, progress=progress)
    answers = []
    for number, one in enumerate(held, 1):
        answers.append(_answer(store, one, other, known.id, used=one.recorded.seq in used))
        if progress:
            progress(number, len(held))
    derived = (memo(store, view, id_) for id_ in with_derived(store, view, [known.id])[1:])
    return Impact(
        id=known.id,
        content=known.content,
        basis=view.seq,
        answers=tuple(reversed(answers)),
        changed=sum(one.changed for one in answers),
        first_changed=sum(one.first_changed for one in answers),
        unknown=sum(one.without is None for one in answers),
        used=sum(one.used for one in answers),
        sessions=dict(Counter(one.session for one in answers if one.session is not None)),
        derived=tuple(Derived(id=one.id, content=one.content, visible=one.visible) for one in derived),
    )


def folded_without(
    store: Store, ids: Iterable[MemoryId], analyzers: Iterable[str], *, upto: int, progress: Progress | None = None
) -> Projections:  # fmt: skip
    """The projections up to a seq as if these memories had never been told; folded off the store's lock."""
    while True:
        try:
            events = store.log.steady(0, upto)
            return projections_without(events, list(ids), analyzers, upto=upto, progress=progress)
        except ErasedMeanwhile:
            store.catch_up()


def as_if_untold(
    store: Store, question: Question, view: View, formula: Formula, given: str | Iterable[str] | None
) -> tuple[Question, View]:
    """The question and the view without these memories, each of which must have been told by then."""
    named = (given,) if isinstance(given, str) else validate.labels(given, "without")
    ids = [memo(store, view, validate.identifier(id_)).id for id_ in named]
    other = folded_without(store, ids, formula.analyzers, upto=view.seq)
    return question_without(question, frozenset(ids)), other.at(view.seq, view.time)


@locked
def _held(store: Store, memory_id: MemoryId) -> list[_Held]:
    """The recalls that held the memory, oldest first."""
    formulas = store.projections.adoptions.formulas
    return [
        _Held(
            recorded,
            fact,
            formula_of(store.log, store.projections, fact) if fact.formula in formulas else None,
        )
        for recorded, fact in those_that_held(store, memory_id)
    ][::-1]


def _used(store: Store, memory_id: MemoryId, recalls: list[int]) -> set[int]:
    """The recalls after which the memory was injected or used, as part of their answers."""
    wanted = set(recalls)
    found: set[int | None] = set()
    for recorded in store.log.read(recalls[0]) if recalls else ():
        fact = recorded.fact
        if isinstance(fact, Accessed) and fact.recall in wanted and fact.how != "returned":
            found.update({fact.recall} if memory_id in fact.ids else ())
    return {seq for seq in found if seq is not None}


def _answer(
    store: Store, held: _Held, other: Projections, memory_id: MemoryId, *, used: bool
) -> ImpactedAnswer:
    recorded, recalled, formula = held
    answer = ImpactedAnswer(
        recall=f"r{recorded.seq}",
        at=iso(recorded.at),
        query=recalled.question.text,
        session=recalled.question.session,
        actor=recorded.actor,
        rank=recalled.ids.index(memory_id) + 1,
        ids=recalled.ids,
        used=used,
    )
    if formula is None:
        problem = f"the log does not hold the formula {recalled.formula[:12]}"
        return msgspec.structs.replace(answer, problem=problem)
    given, left = _with(store, recalled, formula), _without(other, recalled, formula, memory_id)
    return msgspec.structs.replace(
        answer,
        without=left,
        entered=tuple(id_ for id_ in left if id_ not in recalled.ids),
        changed=given != left,
        first_changed=given[:1] != left[:1],
        replayed=given == recalled.ids,
    )


@locked
def _with(store: Store, recalled: Recalled, formula: Formula) -> tuple[MemoryId, ...]:
    view = store.view(recalled.basis)
    return rank_around(scanning(recalled.question, view), view, formula, finite=False)[1].ids


def _without(
    other: Projections, recalled: Recalled, formula: Formula, memory_id: MemoryId
) -> tuple[MemoryId, ...]:
    question = question_without(recalled.question, frozenset((memory_id,)))
    view = other.at(recalled.basis, recalled.question.now)
    return rank_around(question, view, formula, finite=False)[1].ids
