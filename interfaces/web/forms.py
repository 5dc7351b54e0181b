"""The API's own Structs, beside the engine's: a field is a parameter of a query string or of a body."""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from recollect.engine.answers import Happening, Memo, Status
from recollect.engine.recall_options import At, BetweenArguments, K, RecallArguments, Track
from recollect.interfaces.common.recall_filters import RecallFilters

Limit = Annotated[int, Meta(ge=1, le=1_000)]
Seq = Annotated[int, Meta(ge=1)]


class Serving(msgspec.Struct, kw_only=True):
    """How the server was started, and what failed in the background: the last scheduled dream.

    `run` is another one after each start: what a page learnt of one run need not hold in the next.
    """

    read_only: bool = False
    read_only_because: str = "this server is read-only; start it without --read-only to write"
    dream_every: str | None = None
    dream_problem: str | None = None
    run: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))

    @property
    def problems(self) -> tuple[str, ...]:
        return () if self.dream_problem is None else (self.dream_problem,)


class ServerStatus(Status, frozen=True, kw_only=True):
    """The store's status, and what this server does beside answering. `path` is the store as any other command there names it."""

    path: str
    read_only: bool
    dream_every: str | None
    run: str


class Nothing(msgspec.Struct, frozen=True):
    """No parameters."""


class AskNow(RecallArguments, frozen=True, kw_only=True):
    """A question to the store as it is."""

    q: str


class Ask(AskNow, frozen=True, kw_only=True):
    """A question that is not recorded. `at` asks the store as it was."""

    at: At = None


class AskAndRecord(AskNow, frozen=True, kw_only=True):
    """A question that is recorded. Only questions of the present are, so there is no `at`."""

    track: Track = True


class AskAbout(Ask, frozen=True, kw_only=True):
    id: str


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    at: str | None = None
    project: str | None = None
    session: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    before: Annotated[int, Meta(ge=1)] | None = None
    offset: Annotated[int, Meta(ge=0)] | None = None
    limit: Limit = 100


class MemoPage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first; `before` asks for the next page, None at the end. With `offset`, oldest first from there on."""

    memories: tuple[Memo, ...]
    total: int
    before: int | None


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A memory's `id` in place of the one in the path: a path cannot hold every id (`..`, `x/history`)."""

    id: str | None = None


class NamedAt(Named, frozen=True, kw_only=True):
    at: str | None = None


class Changed(BetweenArguments, frozen=True, kw_only=True):
    q: str
    id: str


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    a: str | None = None
    b: str | None = None
    k: K = 10
    last: Annotated[int, Meta(ge=1)] | None = None


class RecallsPage(RecallFilters, frozen=True, kw_only=True):
    rated: bool | Literal["good", "bad"] = False  # type: ignore[assignment]  # wider than the command line's flag
    before: Seq | None = None
    limit: Limit = 50


class RecallIds(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded recalls by their ids."""

    recalls: Annotated[tuple[str, ...], Meta(min_length=1, max_length=100)]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    before: Seq | None = None
    limit: Limit = 50
    memory: str | None = None
    session: str | None = None
    type: str | None = None
    since: str | None = None
    until: str | None = None


class TimelinePage(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first; `before` asks for the next page, None at the end."""

    events: tuple[Happening, ...]
    head: int
    before: int | None


class Formulas(msgspec.Struct, frozen=True, kw_only=True):
    """The built-in formulas, those in the log as name@digest, and the one in force."""

    built_in: tuple[str, ...]
    in_log: tuple[str, ...]
    in_force: str


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A position of the log: its time and what happened there; nothing happened at 0."""

    seq: int
    at: str
    event: Happening | None
