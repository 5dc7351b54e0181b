"""What a phase is given and what it gives back.

A phase is a pure function of a `PhaseInput`: the view (with the effects of the phases before it), the settings and
the clock. It returns an `Outcome`: the facts that it would write, how many memories it looked at, and for every
change the value before, the value after and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from recollect.dream.settings import Settings
from recollect.events.facts import AnyFact, MemoryId, Micros
from recollect.projections.view import View

EVERY_MEMORY = "*"

Value = float | str | None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One value of one memory (or of every memory: `*`), before and after, and why."""

    id: MemoryId
    what: str
    before: Value
    after: Value
    why: str


class PhaseInput(NamedTuple):
    """`dream` is the dream's id, `since` the seq at which the last one ended; `picked` is what scan chose.

    `recorded_at` says when an event was recorded. `proposed` are the pairs (new, old) that earlier dreams proposed; `answers_changed_by` counts the recorded answers
    that a fact would change.
    """

    view: View
    settings: Settings
    now: Micros
    dream: str
    since: int
    recorded_at: Callable[[int], Micros]
    picked: tuple[int, ...] = ()
    proposed: frozenset[tuple[MemoryId, MemoryId]] = frozenset()
    answers_changed_by: Callable[[AnyFact], int] = lambda _: 0


class Outcome(NamedTuple):
    facts: tuple[AnyFact, ...]
    looked_at: int
    changes: tuple[Change, ...]
    picked: tuple[int, ...] | None = None
