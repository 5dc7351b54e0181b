"""The arguments and results of the audit tools."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from recollect.engine.recall_options import BetweenArguments
from recollect.events.facts import Verdict
from recollect.interfaces.common.recall_filters import RecallFilters
from recollect.interfaces.mcp.tool_arguments import Formula, Id, Session

RecallId = Annotated[str, Meta(description="The id of a recorded recall, such as 'r12'.")]
Query = Annotated[str, Meta(description="The question, or the id of a recorded recall: 'r12'.")]


class Why(msgspec.Struct, frozen=True, kw_only=True):
    recall: RecallId
    id: Id


class WhyChanged(BetweenArguments, frozen=True, kw_only=True):
    query: Query
    id: Id


class FindRecalls(RecallFilters, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(description="How many at most.", ge=1, le=1_000)] = 50
    before: Annotated[str | None, Meta(description="Only older ones than this recall: 'r12'.")] = None


class Show(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="'r12', '@12', a memory's id, a dream's id, or a formula.")]


class History(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    last: Annotated[int, Meta(description="Only the last so many events.", ge=1, le=10_000)] = 100


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    formula: Formula
    against: Annotated[
        str | None, Meta(description="Another formula, named likewise; the one in force if left out.")
    ] = None
    last: Annotated[int, Meta(description="Only the last so many recorded questions.", ge=1)] | None = None
    k: Annotated[int, Meta(description="How many first places to compare.", ge=1, le=1_000)] = 10


class Verify(msgspec.Struct, frozen=True, kw_only=True):
    independent: Annotated[bool, Meta(description="With rank-bm25 and a brute-force scan instead.")] = False


class Dream(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: Annotated[bool, Meta(description="Report what would change and write nothing.")] = False
    max_churn: (
        Annotated[
            float,
            Meta(
                description="Write nothing if recorded questions would change by more than this share.",
                ge=0.0,
                le=1.0,
            ),
        ]
        | None
    ) = None


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    verdict: Annotated[Verdict, Meta(description="helpful, unhelpful or outdated.")]
    recall: RecallId | None = None
    session: Session | None = None


class Link(msgspec.Struct, frozen=True, kw_only=True):
    a: Annotated[str, Meta(description="The memory that the link starts from.")]
    b: Annotated[str, Meta(description="The memory that it leads to.")]
    kind: Annotated[str, Meta(description="supports, contradicts, causes, part_of, …")]
    weight: Annotated[float, Meta(description="How strong; 1 is ordinary.", ge=0.0)] = 1.0


# --- results ---------------------------------------------------------------------------------------


class StageResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one stage of the formula did to the memory's score."""

    number: int
    title: str
    state: str
    before: float | None
    after: float | None


class ChannelResult(msgspec.Struct, frozen=True, kw_only=True):
    """How one channel found the memory: its place and raw value, and the words that matched."""

    name: str
    rank: int | None
    value: float | None
    terms: tuple[str, ...]


class DropResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where a memory that is not in the answer was lost, with the number it had and the one it needed."""

    stage: str
    reason: str
    had: float | None
    needed: float | None


class WhyResult(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded ranking, replayed. `exact` says that the replay gave what was recorded, bit for bit."""

    sentence: str
    recall: str | None
    id: str
    rank: int | None
    score: float | None
    candidates: int
    basis: int
    now: str
    formula: str
    exact: bool | None
    dropped_at: DropResult | None
    channels: tuple[ChannelResult, ...]
    stages: tuple[StageResult, ...]
    provenance: dict[str, tuple[int, ...]]


class CauseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One cause of a change; the scores of all causes add up to the change of the score."""

    cause: str
    score: float
    rank: float
    says: str


class WhyChangedResult(msgspec.Struct, frozen=True, kw_only=True):
    sentence: str
    id: str
    cause: str | None
    rank_since: int | None
    rank_until: int | None
    score_change: float
    causes: tuple[CauseResult, ...]
    passed_by: tuple[str, ...]
    passed: tuple[str, ...]
    redacted: str = ""
    degraded: tuple[str, ...] = ()


class EventResult(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    at: str
    type: str
    summary: str


class HistoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The events that touched a memory, oldest first; `earlier` more came before them."""

    id: str
    events: tuple[EventResult, ...]
    earlier: int


class MoverResult(msgspec.Struct, frozen=True, kw_only=True):
    question: str
    id: str
    before: int | None
    after: int | None


class CompareResult(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded questions under two formulas; `movers` are the memories that moved most."""

    sentence: str
    before: str
    after: str
    questions: int
    metrics: dict[str, float]
    movers: tuple[MoverResult, ...]
    caveat: str


class VerifyResult(msgspec.Struct, frozen=True, kw_only=True):
    """`verdict` is exact, attested, partly or differs, and `sentence` says why. `exact`: every recorded recall was ranked
    again with the same ids, order and scores, bit for bit.

    `attested` can no longer be ranked again and were exact when they could; `redacted` saw something that was erased since
    and are not attested; `not_here` need what this machine cannot have; `unreadable` lie in damage.
    """

    verdict: str
    sentence: str
    exact: bool
    checked: int
    differences: tuple[str, ...]
    damage: tuple[str, ...]
    exact_count: int
    attested: int
    redacted: int
    not_here: int
    different: int
    contradictions: tuple[str, ...] = ()
    unreadable: int = 0
    notes: tuple[str, ...] = ()


class DreamResult(msgspec.Struct, frozen=True, kw_only=True):
    """`id` names the dream for `recollect undream`. Not committed: a dry run, or `refused` for its churn."""

    id: str
    committed: bool
    refused: str
    counts: dict[str, int]
    metrics: dict[str, float]
    degraded: tuple[str, ...] = ()
