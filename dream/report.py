"""What a dream did, or would do: phase by phase, memory by memory."""

from __future__ import annotations

import msgspec

from recollect.dream.measure import AnswerChange
from recollect.dream.phase import Change
from recollect.events.facts import Micros


class PhaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """One phase: how many memories it looked at, how many facts it made, and every change with its reason."""

    phase: str
    looked_at: int
    facts: int
    changes: tuple[Change, ...]


class DreamReport(msgspec.Struct, frozen=True, kw_only=True):
    """A dream by its id. `committed` is false for a dry run and for a dream that was `refused` for its churn.

    `counts` are changes per phase; `metrics` compare the recorded questions before and after, `answers` are those that change. `undoes` names the
    dream that this one took back, and `left` what it left alone because it had changed since. `degraded` says what the
    dream went without: summaries whose model was away, vectors of summaries.
    """

    id: str
    dry_run: bool
    committed: bool
    basis: int
    now: Micros
    phases: tuple[PhaseReport, ...]
    counts: dict[str, int]
    metrics: dict[str, float]
    answers: tuple[AnswerChange, ...] = ()
    undoes: str | None = None
    left: tuple[Change, ...] = ()
    refused: str = ""
    head: int = 0
    degraded: tuple[str, ...] = ()
