"""The two sides of a comparison: each says how it ranks a question that was asked in the past.

A formula ranks it again at its own moment; the record says what was answered; a fork says what was answered in
the other future, where the same question has the same event id.

    frozen       the state that a question is ranked on is the recorded one
    open loop    what was read is as recorded, what sessions were answered is the fork's own
    closed loop  both are the fork's own
"""

from __future__ import annotations

from collections.abc import Set
from typing import Literal, NamedTuple, Protocol

from recollect.events.envelope import EventId
from recollect.events.facts import Recalled
from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.query.formula import Formula
from recollect.query.ranking import rank_around
from recollect.query.stages.retrieving import Retrieve
from recollect.replay.compare.recorded_questions import Asked, under
from recollect.replay.compare.shared_search import SharedSearch
from recollect.replay.verify import prepare

Mode = Literal["frozen", "open loop", "closed loop"]


class Ranked(NamedTuple):
    """An answer, the ids of all candidates in order where they are known, and the shards that were done without."""

    ids: tuple[str, ...]
    order: tuple[str, ...]
    scanned: tuple[str, ...] = ()


class Pair(NamedTuple):
    """One question and its two rankings."""

    asked: Asked
    a: Ranked
    b: Ranked


class Side(Protocol):
    @property
    def label(self) -> str: ...

    @property
    def mode(self) -> Mode:
        """Whether the state that it ranks on is the recorded one, or one that it brought about itself."""
        ...

    @property
    def depth(self) -> int:
        """How many rows its word searches look for; 0 if it searches nothing."""
        ...

    def knows(self, asked: Asked) -> bool: ...

    def quotes(self, asked: Asked) -> bool:
        """Whether its answer is the recorded one, and not a ranking of what is in the log now."""
        ...

    def rank(self, asked: Asked, view: SharedSearch) -> Ranked: ...


class FormulaSide:
    """A formula, at every question's own past moment."""

    mode: Mode = "frozen"

    def __init__(self, log: Log, projections: Projections, formula: Formula) -> None:
        prepare(log, projections, formula)
        self.formula = formula
        self.label = formula.label
        self.depth = max(
            (s.top for s in formula.stages if isinstance(s, Retrieve) and s.channel == "lexical"), default=0
        )

    def knows(self, asked: Asked) -> bool:  # noqa: ARG002 (a formula ranks any question)
        return True

    def quotes(self, asked: Asked) -> bool:  # noqa: ARG002 (a formula ranks)
        return False

    def rank(self, asked: Asked, view: SharedSearch) -> Ranked:
        recorded = asked.recorded.formula if asked.recorded else None
        question = under(asked.question, formula=self.formula.digest, recorded=recorded)
        question, ranking = rank_around(question, view, self.formula, finite=recorded != self.formula.digest)
        ids = view.documents.ids.values
        memories = ranking.sheet.memories[list(ranking.order)].tolist()
        return Ranked(ranking.ids, tuple(ids[memory] for memory in memories), question.effects.scanned)


class RecordedSide:
    """What the log says was answered."""

    mode: Mode = "frozen"
    label = "recorded"
    depth = 0

    def knows(self, asked: Asked) -> bool:
        return asked.recorded is not None

    def quotes(self, asked: Asked) -> bool:  # noqa: ARG002 (always)
        return True

    def rank(self, asked: Asked, view: SharedSearch) -> Ranked:  # noqa: ARG002 (nothing is ranked)
        assert asked.recorded is not None
        return Ranked(asked.recorded.ids, asked.recorded.ids)


class Said(NamedTuple):
    """What a recall was answered."""

    formula: str
    ids: tuple[str, ...]
    scores: tuple[float, ...]


def said(recalled: Recalled) -> Said:
    return Said(recalled.formula, recalled.ids, recalled.scores)


def answers(log: Log, since: int = 0) -> dict[EventId, Said]:
    """What the recalls of a log were answered, by the ids of their events."""
    facts = ((event.id, event.fact) for event in log.read(since))
    return {id_: said(fact) for id_, fact in facts if isinstance(fact, Recalled)}


class ForkSide:
    """What a fork says was answered, for the questions that were lived again in it."""

    depth = 0

    def __init__(self, fork: Log, *, among: Set[EventId], label: str, mode: Mode) -> None:
        self.label = label
        self.mode: Mode = mode
        self._answers = {event: one for event, one in answers(fork).items() if event in among}

    def knows(self, asked: Asked) -> bool:
        return asked.event in self._answers

    def quotes(self, asked: Asked) -> bool:
        return asked.recorded is not None and said(asked.recorded) == self._answers[asked.event]

    def rank(self, asked: Asked, view: SharedSearch) -> Ranked:  # noqa: ARG002 (nothing is ranked)
        ids = self._answers[asked.event].ids
        return Ranked(ids, ids)
