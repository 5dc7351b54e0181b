"""A log as it reads after erasures: where a payload is gone, what remains of it takes its place.

An `Erased` event carries the remains of the events that it names (`remains`), and stands behind them. Who folds a
log from the start meets an erased event first and has to know how it continues, so the `Erased` events are looked
up before anything is read. From the moment an `Erased` event is in the log, the events that it names read as
erased, whether or not their payloads are overwritten yet: an interrupted erasure never shows a text again.

An erased version of a memory reads as `Redacted` with its remains; of other events the remains are whole facts and
read as such. Of two remains of one event the later counts. All else is the log's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.events.clock import ClockAhead
from recollect.events.envelope import Draft, Recorded, decode, type_name
from recollect.events.errors import LogDamaged
from recollect.events.facts import Erased, Ingested, Redacted, Remains, Revised
from recollect.events.frame import Frame
from recollect.events.log import Durability, Finding, LogStatus
from recollect.events.transfer import TransferableLog

ERASED = type_name(Erased)


class RedactedLog:
    """`Log` over another one; `learn` looks for erasures, `resume` takes over those that are known."""

    def __init__(self, base: TransferableLog) -> None:
        self.base = base
        self.erasures: list[int] = []
        self._known = 0
        self._unread: list[int] = []
        self._erased_by: dict[int, int] = {}
        self._last: tuple[int, dict[int, Remains]] = (0, {})

    # --- erasures --------------------------------------------------------------------------------

    def resume(self, erasures: Sequence[int], upto: int) -> None:
        """These are the seqs of all `Erased` events up to a seq; they are read when they are needed."""
        self.erasures = list(erasures)
        self._unread = list(erasures)
        self._known = upto

    def learn(self) -> list[int]:
        """Take in the erasures up to the head; returns the seqs of those that are new."""
        head = self.base.head
        if head <= self._known:
            return []
        fresh = self.base.positions(ERASED, self._known)
        self._read_erasures()
        self._take(fresh)
        self.erasures += fresh
        self._known = head
        return fresh

    def remains_of(self, erasure: int) -> tuple[int, ...]:
        """The seqs of the events whose remains the `Erased` event at this seq carries."""
        fact = self.get(erasure).fact
        return tuple(one.seq for one in fact.remains) if isinstance(fact, Erased) else ()

    def overwritten(self, seq: int) -> bool:
        """Whether the payload at this seq is gone from the log itself."""
        return isinstance(self.base.get(seq).fact, Redacted)

    def _read_erasures(self) -> None:
        unread, self._unread = self._unread, []
        self._take(unread)

    def _take(self, erasures: Sequence[int]) -> None:
        """Latest first: an `Erased` event may have been erased by a later one."""
        self._last = (0, {})
        found: set[int] = set()
        for erasure in reversed(erasures):
            fresh = set(self.remains_of(erasure)) - found
            found |= fresh
            self._erased_by.update(dict.fromkeys(fresh, erasure))
        self._last = (0, {})

    # --- reading ---------------------------------------------------------------------------------

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        events = self.base.read(after, upto)
        return map(self._redacted, events) if self.erasures else events

    def get(self, seq: int) -> Recorded:
        recorded = self.base.get(seq)
        return self._redacted(recorded) if self.erasures or self._erased_by else recorded

    def _redacted(self, recorded: Recorded) -> Recorded:
        if self._unread and isinstance(recorded.fact, Redacted):
            self._read_erasures()
        erasure = self._erased_by.get(recorded.seq)
        if erasure is None:
            return recorded
        left = self._remains(erasure)[recorded.seq]
        fact = decode(recorded.type, left.version, left.payload)
        if isinstance(fact, Ingested | Revised):
            whole = Redacted(type=recorded.type, erased_at=erasure, remains=fact)
            return Recorded(
                recorded.seq, recorded.at, recorded.id, recorded.actor, recorded.type, left.version, b"", whole
            )  # fmt: skip
        return Recorded(
            recorded.seq, recorded.at, recorded.id, recorded.actor, recorded.type, left.version, left.payload, fact
        )  # fmt: skip

    def _remains(self, erasure: int) -> dict[int, Remains]:
        number, remains = self._last
        if number != erasure:
            fact = self.get(erasure).fact
            assert isinstance(fact, Erased), fact
            remains = {one.seq: one for one in fact.remains}
            self._last = (erasure, remains)
        return remains

    # --- the log's own ---------------------------------------------------------------------------

    @property
    def head(self) -> int:
        return self.base.head

    @property
    def damage(self) -> LogDamaged | None:
        return self.base.damage

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.base.warnings

    def append(
        self, drafts: Sequence[Draft], *, expect: int | None = None, durability: Durability = "durable"
    ) -> list[int]:
        return self.base.append(drafts, expect=expect, durability=durability)

    def positions(self, type_: str, after: int = 0) -> list[int]:
        return self.base.positions(type_, after)

    def frames(self, after: int, upto: int) -> Iterator[Frame]:
        return self.base.frames(after, upto)

    def append_frames(self, frames: Sequence[Frame]) -> None:
        self.base.append_frames(frames)

    def refresh(self) -> int:
        return self.base.refresh()

    def time_of(self, seq: int) -> int:
        return self.base.time_of(seq)

    def effective_time(self, seq: int) -> int:
        return self.base.effective_time(seq)

    def clock_ahead(self, now: int | None = None) -> ClockAhead | None:
        return self.base.clock_ahead(now)

    def seq_at(self, at: int) -> int:
        return self.base.seq_at(at)

    def chain_at(self, seq: int) -> bytes:
        return self.base.chain_at(seq)

    def verify_chain(self) -> list[Finding]:
        return self.base.verify_chain()

    def erase(self, seqs: Sequence[int]) -> None:
        self.base.erase(seqs)

    def sync(self) -> None:
        self.base.sync()

    def status(self) -> LogStatus:
        return self.base.status()

    def close(self) -> None:
        self.base.close()
