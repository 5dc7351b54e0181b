"""An explanation: the same object for a hit, for a miss, and for the past.

It is read off the score sheet of the ranking (`explain/`), never computed a second time. Stages are numbered
from 1 as in the formula's file. A value that does not exist is None. What a scoring stage read is complete:
`reproduce` applies the stages to it and gives the score again, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec
import numpy as np

from recollect.projections.lexical.index import TermDetail
from recollect.projections.portable_math import round12
from recollect.query.formula import Formula
from recollect.query.stages.scoring import Normalise
from recollect.query.stages.stage import ScoringStage

Values = dict[str, float | None]
State = Literal[
    "applied",
    "disabled",
    "left out by a dial",
    "jumped over",
    "never saw it",
    "before it came",
    "dropped it",
    "after it was dropped",
]

BEFORE_ALL_STAGES = 0


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate next to it in the whole order, and what put the two in this order.

    `margin` is the difference of the scores; `decided_by` is "score", the column of a tie-break, "id", or
    "derivation" (what was derived from another memory stands below it).
    """

    id: str
    rank: int
    score: float
    margin: float
    decided_by: str


class ChannelPart(msgspec.Struct, frozen=True, kw_only=True):
    """What one retrieving stage knew of the memory: its rank (None: not found) and raw value.

    `last` is the value of the last of the `found` memories, of at most `depth`. `terms` are the question's words
    behind a BM25 score, `variant` says which BM25; `source` is where a vector is searched: "tail" (looked at one by
    one) or a shard's digest. `words` are the terms as the question writes them, where a term is a stem.
    """

    number: int
    name: str
    channel: str
    rank: int | None
    value: float | None
    found: int
    depth: int
    last: float | None
    terms: tuple[TermDetail, ...] = ()
    words: tuple[str, ...] = ()
    source: str | None = None
    variant: str | None = None


class StagePart(msgspec.Struct, frozen=True, kw_only=True):
    """One stage: what it looked at, what the new score was made of, what it wrote, the score around it.

    `inputs` are the values behind the reads (a factor's inputs, a filter's column). Where the stage `scored`,
    the score after is the stage's combination of the score before and `reads`.
    """

    number: int
    op: str
    title: str
    state: State
    inputs: Values = {}
    reads: Values = {}
    wrote: Values = {}
    scored: bool = False
    before: float | None = None
    after: float | None = None


class Drop(msgspec.Struct, frozen=True, kw_only=True):
    """Which stage dropped a miss: the number it had, the number it needed, and the reason in words.

    `number` is 0 where no stage ever saw it (not born, hidden, expired, out of scope), and one more than the
    last stage's where it was ranked but not among the k that were asked for.
    """

    number: int
    title: str
    had: float | None
    needed: float | None
    reason: str


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One number in which the memory and the next one differ, as the stage `number` read it, and what that did.

    `effect` is how much the score would lose with the other's number in its place; `rank`: the numbers are ranks.
    """

    name: str
    number: int
    own: float | None
    other: float | None
    effect: float
    rank: bool = False


class Counterfactual(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest change of one number that lifts the memory above its neighbour, all else held.

    A "factor" is a value of this memory alone, as a stage read it; a "weight" is a parameter of the formula
    (or of the question, where it brings weights), which moves every candidate. `score` is the memory's then.
    """

    kind: Literal["factor", "weight"]
    number: int
    name: str
    current: float | None
    needed: float
    above: str
    score: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a memory ranked where it did, or why it did not."""

    sentence: str
    id: str
    recall: str | None
    query: str
    basis: int
    now: str
    formula: str
    embedder: str | None
    k: int
    rank: int | None
    score: float | None
    candidates: int
    above: Neighbour | None
    below: Neighbour | None
    tie_break: bool
    dropped_at: Drop | None
    channels: tuple[ChannelPart, ...]
    stages: tuple[StagePart, ...]
    provenance: dict[str, tuple[int, ...]]
    facts: dict[str, str]
    counterfactual: Counterfactual | None
    reasons: tuple[Reason, ...] = ()
    against: str | None = None
    """The memory that the reasons compare with: the next hit, or the last hit for a miss that was ranked."""
    exact: bool | None = None
    """Whether the replay gave the ids and scores that the log recorded; None for what was not recorded."""
    note: str = ""
    """What a replay that did not give them is instead, by the verdict of `verify`; empty for any other."""


def reproduce(explanation: Explanation, formula: Formula) -> float | None:
    """The score again, by applying the explained stages to the explained reads. None without a score."""
    score = math.nan
    for part in explanation.stages:
        if part.scored:
            stage = formula.stages[part.number - 1]
            assert isinstance(stage, ScoringStage)
            score = carry(stage, score, part.reads)
    return None if math.isnan(score) else round12(score)


def carry(stage: ScoringStage, before: float, reads: Mapping[str, float | None]) -> float:
    """One stage applied to one candidate. What it read of the score itself is the score before it."""
    arrays = {name: np.array([math.nan if value is None else value]) for name, value in reads.items()}
    score = np.array([before])
    if isinstance(stage, Normalise):
        arrays["value"] = score
    elif "score" in arrays and not math.isnan(before) and not getattr(stage, "suffix", ""):
        arrays["score"] = score
    return float(stage.combine(score, arrays)[0])
