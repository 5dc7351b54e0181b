"""A log as it reads after erasures: where a payload is gone, what remains of it takes its place.

An `Erased` event carries the remains of the events that it names (`remains`), and comes after them in the log. A fold
from the start reaches the erased events first and needs their remains there, so the `Erased` events are looked up
before anything is read. As soon as an `Erased` event is in the log, the events that it names read as erased, whether
or not their payloads are overwritten yet: an interrupted erasure never shows a text again.

An erased version of a memory, or an erased recall, reads as `Redacted` with its remains; the remains of other events
are whole facts and are returned as such. If the remains are of another type than the event, or cannot be read, the
event reads as `Redacted` without remains. If there are two remains of one event, the later ones count. Everything
else comes from the log unchanged.

Another process may erase at any time. Its `Erased` event is in the log before it overwrites anything, so a payload
that is gone without a known reason means that there are erasures to look up. They are looked up at once, also when
the missing payload is that of an earlier `Erased` event. Single reads then go on. A fold cannot, because what it has
folded already may be erased, too: `steady` raises `ErasedMeanwhile`, and the fold starts again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

import msgspec

from recollect.events.clock import ClockAhead
from recollect.events.envelope import Draft, Recorded, decode, type_name
from recollect.events.errors import LogDamaged, RecollectError
from recollect.events.facts import (
    AnyFact,
    Erased,
    Ingested,
    Recalled,
    Redacted,
    RedactedPayload,
    Revised,
    Unknown,
)
from recollect.events.frame import Frame, is_erased
from recollect.events.log import Durability, Finding, LogStatus, Unless
from recollect.events.process_forks import renewed_in_children
from recollect.events.transfer import TransferableLog

ERASED = type_name(Erased)


class ErasedMeanwhile(RecollectError):
    """Another process erased something while the log was being folded; start the fold again."""


class RedactedLog:
    """`Log` over another one; `learn` looks for erasures, `resume` takes over those that are known."""

    def __init__(self, base: TransferableLog) -> None:
        self.base = base
        self.erasures: list[int] = []
        self._known = 0
        self._fresh: list[int] = []
        self._unread: list[int] = []
        self._erased_by: dict[int, int] = {}
        self._last: tuple[int, dict[int, RedactedPayload]] = (0, {})
        self.renew_locks()
        renewed_in_children(self)

    def renew_locks(self) -> None:
        self._looking = threading.RLock()

    # --- erasures --------------------------------------------------------------------------------

    def resume(self, erasures: Sequence[int], upto: int) -> None:
        """Take over the seqs of all `Erased` events up to a seq; the events are read when they are needed."""
        with self._looking:
            self.erasures = list(erasures)
            self._unread = list(erasures)
            self._known = upto
            self._fresh = []
            self._last = (0, {})

    def learn(self) -> list[int]:
        """Take in the erasures up to the head; returns the seqs of those that no earlier call returned."""
        with self._looking:
            if self.base.head > self._known:
                self._look_up()
            fresh, self._fresh = self._fresh, []
            return fresh

    def read_all_erasures(self) -> list[int]:
        """Read also those that `resume` named; returns every seq that an erasure names, in order."""
        with self._looking:
            if self._unread or self.base.head > self._known:
                self._look_up()
            return sorted(self._erased_by)

    def remains_of(self, erasure: int) -> tuple[int, ...]:
        """The seqs of the events whose remains the `Erased` event at this seq carries."""
        fact = self.get(erasure).fact
        return tuple(one.seq for one in fact.remains) if isinstance(fact, Erased) else ()

    def overwritten(self, seq: int) -> bool:
        """Whether the payload at this seq is gone from the log itself."""
        return isinstance(self.base.get(seq).fact, Redacted)

    def _look_up(self) -> None:
        """Read the erasures that are not known or not read yet; after an error, forget all that was read."""
        before = self._known, self.erasures, self._fresh, self._unread
        try:
            found = self.base.positions(ERASED, self._known)
            unread = [*self._unread, *found]
            self._known, self._unread = self.base.head, []
            self.erasures, self._fresh = [*self.erasures, *found], [*self._fresh, *found]
            self._last = (0, {})
            for erasure in reversed(unread):  # an `Erased` event may have been erased by a later one
                for seq in self.remains_of(erasure):
                    if self._erased_by.get(seq, 0) < erasure:
                        self._erased_by[seq] = erasure
        except BaseException:
            self._known, self.erasures, self._fresh, self._unread = before
            raise
        finally:
            self._last = (0, {})

    # --- reading ---------------------------------------------------------------------------------

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        return self._read(self.base.read(after, upto))

    def _read(self, events: Iterator[Recorded]) -> Iterator[Recorded]:
        for recorded in events:
            if recorded.seq in self._erased_by or type(recorded.fact) is Redacted:
                yield self._redacted(recorded)
            else:
                yield recorded

    def steady(self, after: int, upto: int) -> Iterator[Recorded]:
        """As `read`, for a fold: raises `ErasedMeanwhile` on an erasure that `learn` has not returned."""
        for recorded in self.read(after, upto):
            if self._fresh:
                raise ErasedMeanwhile(f"@{self._fresh[0]} erased events while they were being read")
            yield recorded

    def get(self, seq: int) -> Recorded:
        recorded = self.base.get(seq)
        if seq in self._erased_by or type(recorded.fact) is Redacted:
            return self._redacted(recorded)
        return recorded

    def _redacted(self, recorded: Recorded) -> Recorded:
        if recorded.seq not in self._erased_by:
            self.base.refresh()
            with self._looking:
                if self._unread or self.base.head > self._known:
                    self._look_up()
        found = self._remains_at(recorded.seq)
        if found is None:
            return recorded
        erasure, left = found
        fact = _left(recorded.type, left)
        whole: AnyFact | Unknown | Redacted = Redacted(type=recorded.type, erased_at=erasure)
        payload = b""
        if isinstance(fact, Ingested | Revised | Recalled):
            whole = Redacted(type=recorded.type, erased_at=erasure, remains=fact)
        elif fact is not None:
            whole, payload = fact, left.payload
        return Recorded(
            recorded.seq, recorded.at, recorded.id, recorded.actor, recorded.type, left.version, payload, whole
        )  # fmt: skip

    def _remains_at(self, seq: int) -> tuple[int, RedactedPayload] | None:
        """The erasure that counts for an event, and what it left of it; None if no erasure names the event."""
        erasure = 0
        while (newest := self._erased_by.get(seq, 0)) > erasure:  # reading one may reveal a later one
            erasure = newest
            left = self._remains(erasure).get(seq)
            if left is not None:
                return erasure, left
        return None

    def _remains(self, erasure: int) -> dict[int, RedactedPayload]:
        number, remains = self._last
        if number != erasure:
            fact = self.get(erasure).fact
            remains = {one.seq: one for one in fact.remains} if isinstance(fact, Erased) else {}
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
    def unfollowed(self) -> str | None:
        return self.base.unfollowed

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.base.warnings

    def append(
        self, drafts: Sequence[Draft], *, expect: int | None = None, durability: Durability = "durable",
        unless: Unless | None = None,
    ) -> list[int]:  # fmt: skip
        return self.base.append(drafts, expect=expect, durability=durability, unless=unless)

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
        """What the log itself finds, and payloads that were overwritten although no erasure names them."""
        found = self.base.verify_chain()
        unnamed = [] if found else self.unnamed()
        path = self.base.status().path if unnamed else ""
        problem = "its payload was overwritten, and no erasure names it"
        return found + [Finding(path=path, offset=0, seq=seq, problem=problem) for seq in unnamed]

    def unnamed(self) -> list[int]:
        """The events whose payloads are gone although no `Erased` event says so."""
        frames = self.base.frames(0, self.base.head)
        gone = [frame.header.seq for frame in frames if is_erased(frame.body, frame.header.digest)]
        if not gone:
            return []
        self.base.refresh()  # the erasure of another process was in the log before it overwrote anything
        named = set(self.read_all_erasures())
        for erasure in self.erasures:
            fact = self.get(erasure).fact
            named.update(fact.seqs if isinstance(fact, Erased) else ())
        return [seq for seq in gone if seq not in named]

    def erase(self, seqs: Sequence[int]) -> None:
        self.base.erase(seqs)

    @property
    def remnants(self) -> tuple[str, ...]:
        return self.base.remnants

    def keys_left(self, seqs: Sequence[int]) -> list[int] | None:
        return self.base.keys_left(seqs)

    def exclusive(self) -> AbstractContextManager[None]:
        return self.base.exclusive()

    def sync(self) -> None:
        self.base.sync()

    def status(self) -> LogStatus:
        return self.base.status()

    def close(self) -> None:
        self.base.close()


def _left(type_: str, left: RedactedPayload) -> AnyFact | Unknown | None:
    """What remains of an event of this type; None if that is of another type, or cannot be read."""
    try:
        fact = decode(type_, left.version, left.payload)
    except (msgspec.DecodeError, LookupError, TypeError):
        return None
    return fact if isinstance(fact, Unknown) or type_name(type(fact)) == type_ else None
