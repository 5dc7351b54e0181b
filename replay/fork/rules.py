"""What is different in a fork, and what is counted while it is lived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from recollect.events.facts import AnyFact, DreamBegan
from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.query.formula import Formula
from recollect.replay.fork.reembedding import NewEmbedder


class Dreaming(NamedTuple):
    """How dreams are dreamt again: `dream` gives the facts of one night, from its began to its ended."""

    settings: str
    dream: Callable[[Projections, Log, DreamBegan], Sequence[AnyFact]]


class Rules(NamedTuple):
    """What is different in the fork."""

    since: int
    formula: Formula | None
    closed_loop: bool
    embedder: NewEmbedder | None
    dreaming: Dreaming | None


class Counts(msgspec.Struct):
    recalls: int = 0
    recalls_changed: int = 0
    accesses_changed: int = 0
    accesses_dropped: int = 0
    dreams: int = 0
    dreams_again: int = 0
    skipped: int = 0


class RecordedClock:
    """A clock that stands where it is put: events are written at the time they were recorded at."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now
