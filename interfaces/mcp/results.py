"""What the default tools give back as structured content. The shapes are small: a model reads every field.

Nothing here imports the engine, so that tools can be listed while it is still being loaded.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

R = TypeVar("R", bound=msgspec.Struct)


def short_form(kind: type[R], report: object, **own: object) -> R:
    """A result made of the fields that the engine's report has by the same names; `own` are those that differ."""
    same = {
        name: getattr(report, name)
        for name in kind.__struct_fields__
        if name not in own and hasattr(report, name)
    }
    return msgspec.convert({**same, **own}, kind, from_attributes=True)


class RecalledHit(msgspec.Struct, frozen=True, kw_only=True):
    """One memory of an answer; `at` is when it was made, `revision` counts its versions.

    `factors`, if asked for, are the numbers behind the score, to four significant digits.
    """

    rank: int
    id: str
    score: float
    content: str
    kind: str = "note"
    at: str = ""
    project: str | None = None
    session: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    revision: int = 1
    factors: dict[str, float] | UnsetType = UNSET


class RecallResult(msgspec.Struct, frozen=True, kw_only=True):
    """A ranking. `recall` is its id (none if nothing was recorded), `basis` the position of the log it saw.

    `left_out` hits did not fit into the token budget, the first of which are named if that fits; `tokens` is what the
    answer takes; `degraded` says what was off while ranking.
    """

    recall: str | None
    basis: int
    formula: str
    hits: tuple[RecalledHit, ...]
    degraded: tuple[str, ...]
    left_out: int
    left_out_ids: tuple[str, ...]
    tokens: int


class SimilarResult(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that another one resembles; `by` is meaning, or words where there are no vectors."""

    id: str
    content: str
    cosine: float
    when: str
    by: str


class RememberResult(msgspec.Struct, frozen=True, kw_only=True):
    """The id under which a memory is kept; `revision` is above 1 where one was erased under this id.

    `unchanged`: it was known, as it was told again, and nothing was written. `degraded` says that the text was kept
    without a vector. `similar` is what it resembles: if it replaces one of them, say so with revise(id, supersedes).
    """

    id: str
    revision: int
    unchanged: bool = False
    similar: tuple[SimilarResult, ...] = ()
    degraded: tuple[str, ...] = ()


class RecentMemory(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    content: str
    kind: str
    at: str
    project: str | None
    session: str | None
    source: str | None
    tags: tuple[str, ...]
    revision: int


class RecentResult(msgspec.Struct, frozen=True, kw_only=True):
    """Memories, newest first; `left_out` of those asked for did not fit into the token budget."""

    memories: tuple[RecentMemory, ...]
    left_out: int
    tokens: int


class WriteResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a change was written to, and where in the log."""

    id: str
    seq: int


class ForgetResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the log a memory was forgotten; none if it was forgotten already and nothing was written."""

    id: str
    seq: int | None


class ReviseResult(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    revision: int
    degraded: tuple[str, ...] = ()


class MemoryResult(msgspec.Struct, frozen=True, kw_only=True):
    """One memory with its state as of the position `at` of the log; times are ISO 8601 in UTC."""

    id: str
    at: int
    content: str
    visible: bool
    hidden_because: str | None
    kind: str
    importance: float
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    project: str | None
    session: str | None
    source: str | None
    created_at: str
    updated_at: str
    valid_from: str | None
    valid_to: str | None
    expires_at: str | None
    revisions: int
    accesses: int
    used: int
    feedback: int
    strength: float
    status: str
    superseded_by: str | None


class StatusResult(msgspec.Struct, frozen=True, kw_only=True):
    """The health of the store behind the server. `last_dream` is a position in the log, none if it never dreamt."""

    store: str
    head: int
    memories: int
    visible: int
    recalls: int
    formula: str
    embedder: str | None
    model: str
    last_dream: int | None
    new_since_dream: int
    degraded: tuple[str, ...]
    profile: str
    project: str | None
    session: str | None
