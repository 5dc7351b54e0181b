"""The vocabulary: one frozen tagged Struct per fact, in one closed union.

The tag is a stable dotted name and never the class name. Facts grow by fields with defaults; a change of
meaning is a new version with an upcast (see `upcasts`). Times are whole microseconds since 1970 in UTC
(`Micros`); vectors are int16 little-endian bytes on the 4096 grid (see `grid`).
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from recollect.events.dream_facts import (
    Consolidated,
    Downscaled,
    DreamBegan,
    DreamEnded,
    PairDecision,
    Pairing,
    Placed,
    Placement,
    Promoted,
    Promotion,
    Pruned,
    Pruning,
    StabilityChange,
    Stabilized,
    Status,
    StrengthChange,
)
from recollect.events.effects import Effects, Expansion, ModelSaid, Previous, Reranked
from recollect.events.expectation_facts import ExpectationWithdrawn, Expected
from recollect.events.fact import Fact, GridVector, MemoryId, Micros

AccessKind = Literal["returned", "injected", "used"]
Verdict = Literal["helpful", "unhelpful", "outdated"]

__all__ = [
    "Consolidated",
    "Downscaled",
    "DreamBegan",
    "DreamEnded",
    "Effects",
    "Expansion",
    "ExpectationWithdrawn",
    "Expected",
    "Fact",
    "GridVector",
    "MemoryId",
    "Micros",
    "ModelSaid",
    "PairDecision",
    "Pairing",
    "Placed",
    "Placement",
    "Previous",
    "Promoted",
    "Promotion",
    "Pruned",
    "Pruning",
    "Reranked",
    "StabilityChange",
    "Stabilized",
    "Status",
    "StrengthChange",
]  # the facts and types of other modules that are imported from here


# --- memories and their versions ------------------------------------------------------------------


class Ingested(Fact, frozen=True, kw_only=True, tag="memory.ingested"):
    """A memory was kept. For an id that exists already it is a new version (an upsert).

    `said_by` is the model that wrote the text, if one did.
    """

    id: MemoryId
    content: str
    at: Micros
    vector: GridVector | None = None
    embedder: str | None = None
    kind: str = "note"
    importance: float = 0.5
    priority: int | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    project: str | None = None
    session: str | None = None
    source: str | None = None
    valid_from: Micros | None = None
    valid_to: Micros | None = None
    expires_at: Micros | None = None
    importance_tag: str | None = None
    key: str | None = None
    trust: float = 1.0
    said_by: ModelSaid | None = None


class Revised(Fact, frozen=True, kw_only=True, tag="memory.revised"):
    """A memory got a new version. A field that is UNSET stays as it was; None clears it."""

    id: MemoryId
    at: Micros
    content: str | UnsetType = UNSET
    vector: GridVector | UnsetType | None = UNSET
    embedder: str | UnsetType | None = UNSET
    kind: str | UnsetType = UNSET
    importance: float | UnsetType = UNSET
    priority: int | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    entities: tuple[str, ...] | UnsetType = UNSET
    project: str | UnsetType | None = UNSET
    session: str | UnsetType | None = UNSET
    source: str | UnsetType | None = UNSET
    valid_from: Micros | UnsetType | None = UNSET
    valid_to: Micros | UnsetType | None = UNSET
    expires_at: Micros | UnsetType | None = UNSET
    importance_tag: str | UnsetType | None = UNSET
    key: str | UnsetType | None = UNSET
    trust: float | UnsetType = UNSET


class Reembedded(Fact, frozen=True, kw_only=True, tag="memory.reembedded"):
    """Memories got vectors of another embedder; their texts and revision counts stay.

    `sources` are the seqs of the events that hold the texts which the vectors were made from.
    """

    embedder: str
    vectors: tuple[tuple[MemoryId, GridVector], ...]
    sources: tuple[int, ...] = ()


class Forgotten(Fact, frozen=True, kw_only=True, tag="memory.forgotten"):
    """A soft delete with its reason; `Restored` undoes it."""

    id: MemoryId
    reason: str = ""


class Restored(Fact, frozen=True, kw_only=True, tag="memory.restored"):
    """A forgotten, pruned or superseded memory is back, in its latest version."""

    id: MemoryId
    reason: str = ""


class Superseded(Fact, frozen=True, kw_only=True, tag="memory.superseded"):
    """One memory replaced another; the old one no longer answers."""

    old: MemoryId
    new: MemoryId
    reason: str = ""


class RedactedPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of an erased event: a payload of its type without words and vectors."""

    seq: int
    payload: bytes
    version: int = 1


class Erased(Fact, frozen=True, kw_only=True, tag="memory.erased"):
    """The payloads at these positions were overwritten for good; `remains` take their places (see `redaction`).

    They belonged to the memory `id`; an empty id means that they are recorded recalls.
    """

    id: MemoryId
    seqs: tuple[int, ...]
    reason: str = ""
    remains: tuple[RedactedPayload, ...] = ()


# --- reading ---------------------------------------------------------------------------------------


class Accessed(Fact, frozen=True, kw_only=True, tag="memory.accessed"):
    """Memories were read: returned by a recall, injected into a prompt, or used. All three count."""

    ids: tuple[MemoryId, ...]
    at: Micros
    session: str | None = None
    how: AccessKind = "used"
    recall: int | None = None


class Filters(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hard scope of a question; empty means no restriction. `tags` and `entities` match any.

    `unscoped` lets memories of no project pass a restriction to one.
    """

    project: str | None = None
    session: str | None = None
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    since: Micros | None = None
    until: Micros | None = None
    valid_at: Micros | None = None
    min_importance: float | None = None
    exclude: tuple[MemoryId, ...] = ()
    unscoped: bool = False


class Context(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What surrounds a question and may move a ranking without restricting it.

    `since` and `until` are the time that the question is about.
    """

    surface: str | None = None
    profile: str | None = None
    project: str | None = None
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    weights: dict[str, float] = {}
    since: Micros | None = None
    until: Micros | None = None
    depth: int | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a ranking depends on besides the view and the formula.

    With `valid_now` only memories that hold at `now` answer (valid_from <= now < valid_to), unless `filters` names
    another time. Questions from before that rule have no such field and are ranked without it.
    """

    text: str
    now: Micros
    k: int = 10
    vector: GridVector | None = None
    embedder: str | None = None
    session: str | None = None
    context: Context = Context()
    filters: Filters = Filters()
    effects: Effects = Effects()
    valid_now: bool = False


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """Where an event was first written: `seq` in a log whose chain value after it is `chain`, in hexadecimal."""

    seq: int
    chain: str


class Recalled(Fact, frozen=True, kw_only=True, tag="recall.answered"):
    """A question was asked live and ranked at `basis`; its recall id is `r` and this event's seq.

    `formula` is the digest of a formula whose text the log holds. With `branch` it was asked offline and ranked there;
    `basis` is then where it would have been ranked in this log.
    """

    question: Question
    basis: int
    formula: str
    ids: tuple[MemoryId, ...]
    scores: tuple[float, ...]
    degraded: tuple[str, ...] = ()
    branch: Branch | None = None


class Rated(Fact, frozen=True, kw_only=True, tag="memory.rated"):
    """A memory was judged, perhaps as part of one answer."""

    id: MemoryId
    verdict: Verdict
    at: Micros
    recall: int | None = None
    session: str | None = None


# --- the graph -------------------------------------------------------------------------------------


class Linked(Fact, frozen=True, kw_only=True, tag="edge.linked"):
    """A typed weighted edge from a to b; the same (a, b, kind) again replaces its weight."""

    a: MemoryId
    b: MemoryId
    kind: str
    weight: float = 1.0


class Unlinked(Fact, frozen=True, kw_only=True, tag="edge.unlinked"):
    """The edge (a, b, kind) is gone; kind None takes every edge from a to b."""

    a: MemoryId
    b: MemoryId
    kind: str | None = None


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster: its centroid on the grid and its members."""

    name: str
    centroid: GridVector
    members: tuple[MemoryId, ...]


class Clustered(Fact, frozen=True, kw_only=True, tag="cluster.assigned"):
    """A whole new assignment of memories to clusters; it replaces the one before."""

    method: str
    clusters: tuple[Cluster, ...]
    dream: str | None = None


# --- the engine itself -----------------------------------------------------------------------------


class FormulaAdopted(Fact, frozen=True, kw_only=True, tag="formula.adopted"):
    """The full text of a formula; `in_force` makes it the store's default from here on."""

    name: str
    digest: str
    text: str
    in_force: bool = True


class EmbedderAdopted(Fact, frozen=True, kw_only=True, tag="embedder.adopted"):
    """The store's embedder from here on; `probe` is its vector of a fixed text."""

    name: str
    dimensions: int
    probe: GridVector


class ShardSealed(Fact, frozen=True, kw_only=True, tag="shard.sealed"):
    """Rows [first_row, end_row) alive at `basis` are searched through one HNSW index from here on.

    `rows` is a digest over these rows, their memories included (see `row_digest`); empty in seals from before it.
    """

    first_row: int
    end_row: int
    basis: int
    count: int
    digest: str
    builder: str
    rows: str = ""


class ShardRetired(Fact, frozen=True, kw_only=True, tag="shard.retired"):
    """From here on searches no longer use shards with this digest that were sealed before."""

    digest: str
    reason: str


class Recovered(Fact, frozen=True, kw_only=True, tag="log.recovered"):
    """Bytes of an unacknowledged tail were moved aside when the store was opened."""

    segment: str
    offset: int
    length: int
    quarantined_as: str


class ClockCorrected(Fact, frozen=True, kw_only=True, tag="log.clock_corrected"):
    """The events from `first` up to this one were stamped by a clock that ran ahead, at last with `was`.

    They keep their recorded times; `at` is when it was noticed, by a clock that is right.
    """

    first: int
    at: Micros
    was: Micros


class Attested(Fact, frozen=True, kw_only=True, tag="log.attested"):
    """Recorded recalls up to `upto` were ranked again while that was still possible, `recalls` of them.

    `spans` are runs of recalls, each by the seqs of its first and its last. Those in `different` did not come out as
    recorded, all others did, bit for bit. `digest` is over (recall, verdict) of each (see `replay.attestation`).
    """

    upto: int
    recalls: int
    digest: str
    spans: tuple[tuple[int, int], ...] = ()
    different: tuple[int, ...] = ()


AnyFact = (
    Ingested
    | Revised
    | Reembedded
    | Forgotten
    | Restored
    | Superseded
    | Erased
    | Accessed
    | Recalled
    | Rated
    | Expected
    | ExpectationWithdrawn
    | Linked
    | Unlinked
    | Clustered
    | DreamBegan
    | Consolidated
    | Downscaled
    | Stabilized
    | Pruned
    | Placed
    | Promoted
    | DreamEnded
    | FormulaAdopted
    | EmbedderAdopted
    | ShardSealed
    | ShardRetired
    | Recovered
    | ClockCorrected
    | Attested
)


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a type or version that this program does not know: kept, passed on, reported."""

    type: str
    version: int


class Redacted(msgspec.Struct, frozen=True, kw_only=True):
    """An event whose payload was erased; its place in the log and the chain remain.

    Where the `Erased` event is known (see `redacted_log`), `erased_at` is its seq, and `remains` is what is left
    of a version of a memory: its id and its numbers; or of a recall: that there was one.
    """

    type: str
    erased_at: int | None = None
    remains: Ingested | Revised | Recalled | None = None
