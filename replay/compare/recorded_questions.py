"""Questions to be ranked again: each with the past moment at which it was asked."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from recollect.events.envelope import EventId, Recorded
from recollect.events.facts import Question, Recalled
from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.replay.why import recorded


class Asked(NamedTuple):
    """One question at one position. `recorded` is what was answered then; None for one that never was asked.

    `name` is the recall id (`r12`), or the question's name in the file that it comes from; `event` is the id of
    its event, by which a fork of the log has it too; `seq` is where it stands.
    """

    name: str
    question: Question
    basis: int
    event: EventId = b""
    recorded: Recalled | None = None
    seq: int = 0


def recorded_questions(log: Log, projections: Projections, *, last: int | None = None) -> list[Asked]:
    """All recorded recalls in order, or the last n of them; those that were erased are left out."""
    seqs = projections.adoptions.recalls.tolist()
    asked = []
    for seq in seqs if last is None else seqs[max(0, len(seqs) - last) :]:
        event = log.get(seq)
        if isinstance(event.fact, Recalled):
            asked.append(_asked(event, event.fact))
    return asked


def recorded_question(log: Log, projections: Projections, seq: int) -> Asked:
    """The recall recorded at `seq`."""
    recalled = recorded(log, projections, seq)
    return _asked(log.get(seq), recalled)


def _asked(event: Recorded, recalled: Recalled) -> Asked:
    return Asked(f"r{event.seq}", recalled.question, recalled.basis, event.id, recalled, event.seq)


def under(question: Question, *, formula: str, recorded: str | None) -> Question:
    """The question as another formula may see it: scores of a previous answer mean nothing to any but their own."""
    if question.effects.previous is None or formula == recorded:
        return question
    effects = msgspec.structs.replace(question.effects, previous=None)
    return msgspec.structs.replace(question, effects=effects)
