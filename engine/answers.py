"""What callers get back: answers, memories, status, reports. All are msgspec Structs."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from recollect.projections.lifecycle.lifecycle import LifecycleState

DegradedKind = Literal[
    "damage", "behind", "embedder", "loading", "expansion", "rerank", "shard", "unrecorded"
]


class Degraded(NamedTuple):
    """A way in which an answer is degraded: a kind for programs and a text for people."""

    kind: DegradedKind
    text: str


class RecordedHit(msgspec.Struct, frozen=True, kw_only=True):
    """One memory of an answer, as of the answer's basis.

    `at` is when the memory was made, in ISO 8601, and `revision` counts its versions.
    """

    id: str
    score: float
    rank: int
    content: str
    kind: str = "note"
    at: str = ""
    project: str | None = None
    session: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    revision: int = 1


class Hit(RecordedHit, frozen=True, kw_only=True):
    """One memory of an answer, with the numbers that its score was made of."""

    factors: dict[str, float]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A ranking as the caller sees it. `id` is None if it was not recorded; `degraded` says what was off, and
    `degraded_kinds` of which kind each of it is.

    `facts` are what stages found out about the whole ranking: where dials stand, whether a tie-break fired; and
    `found`, as in "3 of 10", where fewer were found than were asked for.
    """

    id: str | None
    basis: int
    formula: str
    query: str
    now: str
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    facts: dict[str, str] = {}
    degraded_kinds: tuple[DegradedKind, ...] = ()


class Memo(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as it stood at `at`: its content and its whole state.

    Of one that was erased since, at the seq `erased_at`, ids and numbers are left.
    """

    id: str
    at: int
    content: str
    state: LifecycleState
    visible: bool
    hidden_because: str | None = None
    erased_at: int | None = None


class Happening(msgspec.Struct, frozen=True, kw_only=True):
    """One event that touched a memory, in words."""

    seq: int
    at: str
    type: str
    actor: str
    summary: str


class EmbedderStatus(msgspec.Struct, frozen=True, kw_only=True):
    name: str | None
    dimensions: int
    state: str


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The health and size of a store.

    `*_at` are the recorded times of the head, of the last dream and of the last event in the newest checkpoint;
    `unsynced_bytes` is what a power cut could still take, `cache_bytes` what may be deleted at any time, and
    `without_vector` counts the visible memories that only words find although the store has an embedder. `fork` says
    what the store is a fork of, if it is one. Of a store on several machines, `replication` says how many copies there
    are, and `behind` how many events this replica has not folded yet.
    """

    store: str
    head: int
    memories: int
    visible: int
    by_status: dict[str, int]
    recalls: int
    log_bytes: int
    segments: int
    durable: int
    formula: str
    embedder: EmbedderStatus
    shards: int
    rows_unsealed: int
    last_dream: int
    new_since_dream: int
    checkpoint_age_events: int
    degraded: tuple[str, ...]
    now: str = ""
    head_at: str | None = None
    last_dream_at: str | None = None
    checkpoint: int = 0
    checkpoint_at: str | None = None
    unsynced_bytes: int = 0
    cache_bytes: int = 0
    without_vector: int = 0
    fork: str | None = None
    replication: str = ""
    behind: int = 0
