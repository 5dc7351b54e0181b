"""The positions that a fact names, moved to where the same events stand in another log."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from recollect.events.facts import (
    Accessed,
    AnyFact,
    ClockCorrected,
    Downscaled,
    DreamBegan,
    ExpectationWithdrawn,
    Expected,
    Question,
    Rated,
    Recalled,
    Reembedded,
    ShardSealed,
)

Renumber = Callable[[int], int]


def renumbered(fact: AnyFact, seq_of: Renumber) -> AnyFact:  # noqa: PLR0911 (one return per kind)
    """The fact with every seq in it put through `seq_of`; the fact itself if it names none.

    An `Erased` event names events with what is left of them; `Leftovers` moves it.
    """
    match fact:
        case Accessed(recall=int(recall)) | Rated(recall=int(recall)) | Expected(recall=recall):
            return msgspec.structs.replace(fact, recall=seq_of(recall))
        case ExpectationWithdrawn(expected=expected):
            return msgspec.structs.replace(fact, expected=seq_of(expected))
        case Downscaled(undoes=int(undoes)):
            return msgspec.structs.replace(fact, undoes=seq_of(undoes))
        case ClockCorrected(first=first):
            return msgspec.structs.replace(fact, first=seq_of(first))
        case DreamBegan(basis=basis) | ShardSealed(basis=basis):
            return msgspec.structs.replace(fact, basis=seq_of(basis))
        case Reembedded(sources=sources) if sources:
            return msgspec.structs.replace(fact, sources=tuple(seq_of(seq) for seq in sources))
        case Recalled(basis=basis, question=question):
            return msgspec.structs.replace(
                fact, basis=seq_of(basis), question=renumbered_question(question, seq_of)
            )
        case _:
            return fact


def renumbered_question(question: Question, seq_of: Renumber) -> Question:
    previous = question.effects.previous
    if previous is None:
        return question
    moved = msgspec.structs.replace(previous, recall=seq_of(previous.recall))
    effects = msgspec.structs.replace(question.effects, previous=moved)
    return msgspec.structs.replace(question, effects=effects)
