"""The log in memory, for `:memory:` stores and tests: the same frames, chain and rules, and no files."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from recollect.events.clock import (
    AHEAD_MAX,
    ClockAhead,
    Correction,
    clock_ahead,
    effective,
    stamp,
    stretch,
    with_missing,
)
from recollect.events.envelope import Draft, Recorded
from recollect.events.errors import HeadMoved, LogDamaged
from recollect.events.frame import (
    GENESIS,
    BadFrame,
    Batch,
    Entry,
    Frame,
    body_of,
    copy_batch,
    decode_frame,
    encode_batch,
    erased_tail,
    is_erased,
    parse_header,
    prepare,
    refuse_other_events,
)
from recollect.events.log import Clock, Durability, Finding, LogStatus, Unless, refuse_after
from recollect.events.segment_log import wall_clock
from recollect.events.segments import check_seq
from recollect.events.upcasts import VERSIONS
from recollect.events.verification import checked

_SEED = 0


class MemoryLog:
    """`Log` that is gone with the process; every durability is the same here."""

    remnants: tuple[str, ...] = ()

    def __init__(self, clock: Clock | None = None, *, ahead_max: int = AHEAD_MAX) -> None:
        self._clock = clock if clock is not None else wall_clock
        self._ahead_max = ahead_max
        self._frames: list[bytes] = []
        self._times: list[int] = []
        self._seqs: dict[bytes, int] = {}
        self._unknown: dict[str, int] = {}
        self._chain = GENESIS
        self._bytes = 0
        self._mutex = threading.RLock()

    @property
    def head(self) -> int:
        return len(self._frames)

    @property
    def damage(self) -> LogDamaged | None:
        return None

    @property
    def unfollowed(self) -> str | None:
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def append(
        self, drafts: Sequence[Draft], *, expect: int | None = None, durability: Durability = "durable",  # noqa: ARG002
        unless: Unless | None = None,
    ) -> list[int]:  # fmt: skip
        entries = prepare(drafts)
        with self._mutex:
            if unless is not None and self.head > unless[1]:
                refuse_after(self, *unless)
            refuse_other_events(entries, self._seqs, self.get)
            fresh = [entry for entry in entries if entry.id not in self._seqs]
            if fresh and expect is not None and expect != self.head:
                raise HeadMoved(expected=expect, actual=self.head)
            if fresh:
                self._write(fresh)
            return [self._seqs[entry.id] for entry in entries]

    def _write(self, entries: Sequence[Entry]) -> None:
        head, now = self.head, self._clock()
        types = {entry.type for entry in entries}
        at = stamp(types, seq=head, at=self.time_of(head), now=now, ahead_max=self._ahead_max)
        batch = encode_batch(
            entries, first_seq=head + 1, durable_seq=head, at=at, chain=self._chain, seed=_SEED, offset=0
        )  # fmt: skip
        self._keep(batch)

    def _keep(self, batch: Batch) -> None:
        ends = [*(place.offset for place in batch.places[1:]), len(batch.blob)]
        for place, end in zip(batch.places, ends, strict=True):
            if place.version > VERSIONS.get(place.type, 0):
                self._unknown[place.type] = self._unknown.get(place.type, 0) + 1
            self._times.append(place.at)
            self._seqs[place.id] = self.head + 1
            self._frames.append(batch.blob[place.offset : end])
        self._chain = batch.chain
        self._bytes += len(batch.blob)

    def frames(self, after: int, upto: int) -> Iterator[Frame]:
        """The frames of the events with after < seq <= upto, for `transfer`."""
        for frame in self._frames[after:upto]:
            yield Frame.parse(frame, _SEED)

    def append_frames(self, frames: Sequence[Frame]) -> None:
        """Whole batches behind the head, as they are (`transfer`); they must continue its chain."""
        with self._mutex:
            if frames[0].header.seq != self.head + 1:
                raise HeadMoved(expected=frames[0].header.seq - 1, actual=self.head)
            self._keep(copy_batch(frames, seed=_SEED, offset=0))

    def verify_chain(self) -> list[Finding]:
        """Every frame that is not as it was written; see `verification`."""
        findings: list[Finding] = []
        chain: bytes | None = GENESIS
        for seq, frame in enumerate(self._frames, 1):
            try:
                chain = checked(frame, seq, _SEED, chain).chain
            except BadFrame as bad:
                findings.append(Finding(path=":memory:", offset=0, seq=seq, problem=str(bad)))
                chain = None
        return findings

    def erase(self, seqs: Sequence[int]) -> None:
        """Overwrite the payloads of these events for good; they read as `Redacted` from here on."""
        with self._mutex:
            for seq in seqs:
                check_seq(seq, low=1, head=self.head)
            for seq in seqs:
                frame = self._frames[seq - 1]
                header = parse_header(frame, 0, _SEED)
                if not is_erased(body_of(frame, 0, header), header.digest):
                    self._frames[seq - 1] = frame[: header.body_offset] + erased_tail(frame, header, _SEED)

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        head = self.head
        for seq in range(max(0, after) + 1, (head if upto is None else min(upto, head)) + 1):
            yield self._decode(seq)

    def get(self, seq: int) -> Recorded:
        check_seq(seq, low=1, head=self.head)
        return self._decode(seq)

    def positions(self, type_: str, after: int = 0) -> list[int]:
        return [recorded.seq for recorded in self.read(after) if recorded.type == type_]

    def _decode(self, seq: int) -> Recorded:
        frame = self._frames[seq - 1]
        return decode_frame(frame, 0, len(frame), seq, _SEED)

    def refresh(self) -> int:
        return self.head

    def time_of(self, seq: int) -> int:
        check_seq(seq, low=0, head=self.head)
        return self._times[seq - 1] if seq else 0

    def effective_time(self, seq: int) -> int:
        return effective(self.time_of(seq), seq, self._corrections())

    def seq_at(self, at: int) -> int:
        first, last = stretch(at, self.head, self._corrections())
        return bisect_right(self._times, at, first - 1, last)

    def _corrections(self) -> list[Correction]:
        pairs = enumerate(pairwise(self._times), 2)
        return with_missing(
            [Correction(seq, at) for seq, (before, at) in pairs if at < before], self.clock_ahead()
        )

    def clock_ahead(self, now: int | None = None) -> ClockAhead | None:
        head, now = self.head, self._clock() if now is None else now
        return clock_ahead(seq=head, at=self.time_of(head), now=now, ahead_max=self._ahead_max)

    def chain_at(self, seq: int) -> bytes:
        check_seq(seq, low=0, head=self.head)
        return parse_header(self._frames[seq - 1], 0, _SEED).chain if seq else GENESIS

    def keys_left(self, seqs: Sequence[int]) -> None:  # noqa: ARG002 (no payload has a key)
        return None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._mutex:
            yield

    def sync(self) -> None:
        """Do nothing: there is no disk to sync."""

    def status(self) -> LogStatus:
        return LogStatus(
            kind="memory",
            path=":memory:",
            head=self.head,
            durable=0,
            bytes=self._bytes,
            segments=0,
            unknown_types=dict(self._unknown),
        )

    def close(self) -> None:
        """Do nothing: there are no files to close."""
