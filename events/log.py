"""The contract of every log: the one thing that is written, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeVar

import msgspec

from recollect.events.clock import ClockAhead
from recollect.events.envelope import Draft, Recorded, type_name
from recollect.events.errors import HeadMoved, LogDamaged
from recollect.events.facts import Fact

Durability = Literal["durable", "group", "unsafe"]
Clock = Callable[[], int]
Unless = tuple[str, int]  # a type of events and a seq
F = TypeVar("F", bound=Fact)


class LogStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What `status` says about a log; `troubles` are disk operations that failed and have not succeeded since.

    Of a log on several machines, `replication` says how many copies there are, `behind` how many events are not here yet.
    """

    kind: str
    path: str
    head: int
    durable: int
    bytes: int
    segments: int
    unsynced_bytes: int = 0
    unknown_types: dict[str, int] = {}
    damage: str | None = None
    recovered: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    replication: str = ""
    behind: int = 0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a log is not as it was written."""

    path: str
    offset: int
    seq: int
    problem: str

    @classmethod
    def of(cls, damage: LogDamaged) -> Finding:
        return cls(path=damage.path, offset=damage.offset, seq=damage.seq, problem=damage.reason)


class BrokenSeal(Finding, frozen=True, kw_only=True):
    """That only the index or the trailer of a sealed segment is broken; every event of it stands."""


def not_followed(reason: str, head: int) -> str:
    return f"the log cannot be followed: {reason}; what others wrote after @{head} is missing"


class Log(Protocol):
    """Positions are 1, 2, 3, …; 0 is the position before the first event.

    A call to `append` is one atomic batch. An event whose id the log holds already with the same type and
    payload is not written again: its original seq is returned in its place (so a retry is safe for ever);
    with other content it raises `EventIdReused` and nothing of the batch is written. With `expect=n` the
    batch is written only if the head is n (checked after idempotency: a retry of a batch that is wholly in
    the log returns its seqs whatever the head), else `HeadMoved`. With `unless=(type, seq)` it is written
    only if the log holds no event of this type after this seq, else `HeadMoved` as well.
    """

    @property
    def head(self) -> int:
        """The last seq this instance may show; `refresh` brings it up to what other processes wrote."""
        ...

    @property
    def damage(self) -> LogDamaged | None:
        """Where acknowledged events cannot be read, as far as this instance came upon it."""
        ...

    @property
    def unfollowed(self) -> str | None:
        """That what other processes appended since cannot be read, for people; None if the last `refresh` could."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Problems that lost no event; may also be read after `close`."""
        ...

    def append(
        self, drafts: Sequence[Draft], *, expect: int | None = None, durability: Durability = "durable",
        unless: Unless | None = None,
    ) -> list[int]: ...  # fmt: skip

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        """Events with after < seq <= upto (default: head), in order."""
        ...

    def get(self, seq: int) -> Recorded: ...

    def positions(self, type_: str, after: int = 0) -> list[int]:
        """The seqs > after of the events of one type, up to the head or to damage; quick if there is no such event."""
        ...

    def refresh(self) -> int:
        """Catch up with what other processes appended; returns the new head."""
        ...

    def time_of(self, seq: int) -> int:
        """Recorded time of an event in µs; 0 for seq 0."""
        ...

    def effective_time(self, seq: int) -> int:
        """When an event happened at the latest: its recorded time, or that of a later correction (`clock`)."""
        ...

    def seq_at(self, at: int) -> int:
        """The last seq whose effective time is this or before; 0 if every event is later."""
        ...

    def clock_ahead(self, now: int | None = None) -> ClockAhead | None:
        """The error that an append would raise now because recorded time is ahead of the clock (default: the log's)."""
        ...

    def chain_at(self, seq: int) -> bytes:
        """The hash chain's value after this event; it commits to everything up to seq."""
        ...

    def verify_chain(self) -> list[Finding]:
        """Every place that is not as it was written; empty if the whole chain holds."""
        ...

    def erase(self, seqs: Sequence[int]) -> None:
        """Overwrite the payloads of these events for good; the chain still verifies."""
        ...

    @property
    def remnants(self) -> tuple[str, ...]:
        """Where bytes of an erased payload can still be, and for how long; for the receipt of an erasure."""
        ...

    def keys_left(self, seqs: Sequence[int]) -> list[int] | None:
        """Which of these erased events still have keys; None where payloads are not encrypted."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep every other writer out: what is read inside still holds when something is appended inside.

        The head is up to date at the beginning. Re-entrant within a thread; `append` may be called inside.
        """
        ...

    def sync(self) -> None:
        """Make everything appended so far durable."""
        ...

    def status(self) -> LogStatus: ...

    def close(self) -> None: ...


def refuse_after(log: Log, type_: str, seq: int) -> None:
    """`HeadMoved` if the log holds an event of this type after this seq; the caller keeps other writers out."""
    if log.positions(type_, seq):
        raise HeadMoved(expected=seq, actual=log.head)


def facts_of(log: Log, kind: type[F]) -> Iterator[tuple[int, F]]:
    """The facts of one kind that were not erased, oldest first, each with its seq."""
    for seq in log.positions(type_name(kind)):
        if isinstance(fact := log.get(seq).fact, kind):
            yield seq, fact
