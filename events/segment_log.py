"""The log in a directory: segment files, shared by the threads and processes of one machine.

    00000000000000000001-5f3a….seg   events, in order; the last file grows, the others are sealed
    head                             what readers may see, and what was durable (`head`)
    writer.lock                      held while a process writes (`disk`)
    quarantine/                      unfinished tails that recoveries set aside (`recovery`)
    active.index                     the growing file's index at the last close; may be deleted
    erase.intent                     only while an erasure is under way (`erasure`)

Writers take the lock around catching up, checking, writing and syncing (`segment_writer`). Readers take no lock:
they read up to the position in the head file, which includes a durable event only after it was synced. So a reader
never shows a durable event that a power cut could still remove; an unsafe one shows at once.

A log opened for reading while no process writes shows every complete batch, after a sync if the disk allows one: the
head file may be older than the last power cut. A disk error fails the write that met it (`LogFailed`): nothing of that
write was acknowledged, reading goes on, `status` reports it, and the next write first reloads the log from disk
(`SegmentWriter.recover`). Damage to acknowledged data ends writing (`LogDamaged`); events before it can still be read. Files
that others replaced or wrote over are neither written to nor read (`LogReplaced`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from recollect.events.clock import AHEAD_MAX, ClockAhead, Correction, clock_ahead, effective, with_missing
from recollect.events.disk import WRITER_LOCK, Disk, RealDisk, WriterLock
from recollect.events.envelope import Draft, Recorded
from recollect.events.erasure import OVERWRITTEN_IN_PLACE, Intent
from recollect.events.errors import (
    InvalidInput,
    LogBusy,
    LogDamaged,
    LogFailed,
    LogReadOnly,
    LogReplaced,
    RecollectError,
)
from recollect.events.frame import Frame, decode_meta, prepare
from recollect.events.head import HEAD, HeadFile, Position
from recollect.events.log import Clock, Durability, Finding, LogStatus, Unless, not_followed, refuse_after
from recollect.events.process_forks import renewed_in_children
from recollect.events.recovery import quarantined, what_to_do
from recollect.events.segment_writer import SegmentWriter
from recollect.events.segments import Segments, check_seq
from recollect.events.verification import verify_segments

SEGMENT_BYTES = 64 * 1024 * 1024


def wall_clock() -> int:
    return time.time_ns() // 1000


class _Waiter:
    """A group append that waits for `seq` to be durable, and hears if that failed."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.failure: LogFailed | None = None


class SegmentLog:
    """`Log` on segment files; see `open`."""

    remnants = OVERWRITTEN_IN_PLACE

    def __init__(
        self, path: Path, *, disk: Disk, clock: Clock, ahead_max: int, segment_bytes: int, group_ms: float, lock_timeout_s: float, read_only: bool, mirror: bool
    ) -> None:  # fmt: skip
        self._path = path
        self._disk = disk
        self._clock = clock
        self._ahead_max = ahead_max
        self._group_s = group_ms / 1000
        self._read_only = read_only
        self._intent = Intent(disk, path)
        self._segments = Segments(disk, path, self._intent.pending, write=not read_only)
        self._head = HeadFile(disk, path / HEAD)
        self._lock = WriterLock(disk, path / WRITER_LOCK, timeout_s=lock_timeout_s)
        self._writer = SegmentWriter(
            disk, path, self._segments, self._head, self._intent, clock=clock, ahead_max=ahead_max,
            segment_bytes=segment_bytes, mirror=mirror,
        )  # fmt: skip
        self.renew_locks()
        renewed_in_children(self)
        self._failure: str | None = None
        self.unfollowed: str | None = None
        self._wrote = False
        self._closed = False

    def renew_locks(self) -> None:
        self._mutex = threading.RLock()
        self._synced = threading.Condition()
        self._group_has_leader = False
        self._waiting: list[_Waiter] = []

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        disk: Disk | None = None,
        clock: Clock | None = None,
        ahead_max: int = AHEAD_MAX,
        segment_bytes: int = SEGMENT_BYTES,
        group_ms: float = 5.0,
        lock_timeout_s: float = 10.0,
        read_only: bool = False,
        mirror: bool = False,
    ) -> SegmentLog:
        """The log in this directory, made if it is missing; recovered if the last writer was interrupted.

        Appends are refused while recorded time is more than `ahead_max` µs ahead of `clock`. A `mirror` holds what
        another log holds, so it notes no recoveries of its own.
        """
        log = cls(
            path.absolute(),
            disk=disk if disk is not None else RealDisk(),
            clock=clock if clock is not None else wall_clock,
            ahead_max=ahead_max,
            segment_bytes=segment_bytes,
            group_ms=group_ms,
            lock_timeout_s=lock_timeout_s,
            read_only=read_only,
            mirror=mirror,
        )
        try:
            log._start_reading() if read_only else log._start_writing()
        except OSError as error:
            log._release()
            raise LogFailed(f"{path} cannot be opened: {error}; {what_to_do(error)}") from error
        except RecollectError:
            log._release()
            raise
        return log

    def _start_writing(self) -> None:
        self._disk.make_directories(self._path)
        with self._lock.held(), self._mutex:
            self._writer.start()

    def _start_reading(self) -> None:
        if not self._disk.names(self._path):
            raise InvalidInput(f"there is no log in {self._path}; open it without read_only to make one")
        if (published := self._head.published()) is not None and not self._lock.is_free():
            self._segments.follow(published.visible)
            self._show(published)
            return
        stop = self._segments.follow()
        synced = self._segments.sync_last()
        self._writer.find_damage(stop)
        if self._segments.last is not None and self._segments.last.count == 0:
            self._segments.drop_last()  # the next writer may remove it
        self._writer.visible = tail = self._segments.tail
        self._writer.durable = tail if synced else min(self._head.witnessed, tail)

    def _show(self, published: Position) -> None:
        tail = self._segments.tail
        self._writer.visible = max(self.head, min(published.visible, tail))
        self._writer.durable = max(self._writer.durable, min(published.durable, tail))

    # --- writing ---------------------------------------------------------------------------------

    def append(
        self, drafts: Sequence[Draft], *, expect: int | None = None, durability: Durability = "durable",
        unless: Unless | None = None,
    ) -> list[int]:  # fmt: skip
        entries = prepare(drafts)
        if not entries:
            return []
        waiter: _Waiter | None = None
        with self._writing():
            if unless is not None and self.head > unless[1]:
                refuse_after(self, *unless)
            seqs = self._writer.append(entries, expect=expect, durability=durability)
            if durability == "group":
                waiter = _Waiter(max(seqs))
                self._waiting.append(waiter)
        if waiter is not None:
            self._await_sync(waiter)
        return seqs

    def append_frames(self, frames: Sequence[Frame]) -> None:
        """Whole batches behind the head, as they are (`transfer`); they must continue its chain."""
        with self._writing():
            self._writer.copy(frames)

    def sync(self) -> None:
        with self._writing():
            self._writer.sync()

    def erase(self, seqs: Sequence[int]) -> None:
        """Overwrite the payloads of these events for good, also in a damaged log; they read as `Redacted` from here on."""
        with self._writing(damaged=True):
            for seq in seqs:
                check_seq(seq, low=1, head=self._segments.tail)
            self._writer.erase(seqs)

    def keys_left(self, seqs: Sequence[int]) -> None:  # noqa: ARG002 (no payload has a key)
        return None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the writer lock with the head up to date; appends inside take it again."""
        self._refuse_unless_writable()
        with ExitStack() as held:
            try:
                held.enter_context(self._lock.held())
            except OSError as error:
                raise self._failed(error) from error
            with self._writing():
                self._writer.show_pending()
            yield

    @contextmanager
    def _writing(self, *, damaged: bool = False) -> Iterator[None]:
        """Hold the writer lock, caught up; an error of the disk refuses this write, and the next one tries again."""
        self._refuse_unless_writable(damaged=damaged)
        try:
            with self._lock.held(), self._mutex:
                self._wrote = True
                self._refuse_unless_writable(damaged=damaged)
                if replaced := self._replaced():
                    raise replaced
                try:
                    self._writer.catch_up()
                    self._refuse_unless_writable(damaged=damaged)
                    yield
                except OSError as error:
                    self._writer.give_up()
                    self._fail_waiters(self._failed(error))
                    raise
                self._failure = None
        except OSError as error:
            raise self._failed(error) from error
        finally:
            with self._synced:
                self._synced.notify_all()

    def _failed(self, error: OSError) -> LogFailed:
        self._failure = str(error)
        with suppress(OSError):
            if replaced := self._replaced():
                return replaced
        return LogFailed(
            f"{self._path} could not be written: {error}; nothing of it was acknowledged, and the next write tries again"
        )

    def _fail_waiters(self, failure: LogFailed) -> None:
        """Fail all waiting appends: their events were dropped, or are not known to be on disk."""
        for waiter in self._waiting:
            if waiter.seq > self._writer.durable:
                waiter.failure = failure

    def _replaced(self) -> LogReplaced | None:
        if self._writer.harm() is None:
            return None
        with self._mutex:  # not in the middle of another thread's write
            harm = self._writer.harm()
        return None if harm is None else LogReplaced(f"{harm}; nothing was written. Open the store again")

    def _refuse_unless_writable(self, *, damaged: bool = False) -> None:
        self._readable()
        if self._read_only:
            raise LogReadOnly(f"{self._path} was opened for reading; open it without read_only to write")
        if self._writer.damage is not None and not damaged:
            raise self._writer.damage

    def _await_sync(self, waiter: _Waiter) -> None:
        """Wait until `seq` is durable. The first waiter gives others time to join, then syncs for all of them."""
        try:
            while not self._settled(waiter):
                with self._synced:
                    if self._group_has_leader:
                        if not self._settled(waiter):
                            self._synced.wait()
                        continue
                    self._group_has_leader = True
                try:
                    time.sleep(self._group_s)
                    if not self._settled(waiter):
                        self.sync()
                finally:
                    with self._synced:
                        self._group_has_leader = False
                        self._synced.notify_all()
        finally:
            with self._mutex:
                self._waiting.remove(waiter)

    def _settled(self, waiter: _Waiter) -> bool:
        """Whether the waiter's event is durable; raise if its sync failed."""
        if waiter.failure is not None:
            raise waiter.failure
        return self._writer.durable >= waiter.seq

    # --- reading ---------------------------------------------------------------------------------

    @property
    def head(self) -> int:
        return self._writer.visible

    @property
    def damage(self) -> LogDamaged | None:
        return self._writer.damage

    @property
    def warnings(self) -> tuple[str, ...]:
        unmarked = self._writer.unmarked
        return tuple(self._writer.warnings) if unmarked is None else (*self._writer.warnings, unmarked)

    def _readable(self) -> Segments:
        if self._closed:
            raise InvalidInput(f"the log {self._path} is closed; open it again")
        return self._segments

    def refresh(self) -> int:
        """Catch up with other writers; two small reads if nothing changed. If the disk fails, keep the head and report it in `status`."""
        self._readable()
        try:
            if replaced := self._replaced():
                raise replaced
            published = self._head.published()
            if published is not None and published.visible > self.head and self._writer.damage is None:
                with self._mutex:
                    self._follow(published)
            self.unfollowed = None
        except OSError as error:
            self.unfollowed = not_followed(str(error), self.head)
        return self.head

    def _follow(self, published: Position) -> None:
        if self._writer.faulty:
            self._segments.rewind(self.head)
        stop = self._segments.follow(published.visible)
        self._show(published)
        self._writer.note_shown()
        if stop is not None and self.head < published.visible:
            self._writer.find_damage(stop)

    @contextmanager
    def _reading(self) -> Iterator[Segments]:
        """Turn a disk error while reading into one line that names the log."""
        segments = self._readable()
        try:
            yield segments
        except OSError as error:
            raise LogFailed(
                f"{self._path} could not be read: {error}; nothing was changed, try again"
            ) from error

    def read(self, after: int = 0, upto: int | None = None) -> Iterator[Recorded]:
        self._readable()
        head = self.head
        return self._records(max(0, after), head if upto is None else min(upto, head))

    def _records(self, after: int, upto: int) -> Iterator[Recorded]:
        with self._reading() as segments:
            yield from segments.records(after, upto)

    def frames(self, after: int, upto: int) -> Iterator[Frame]:
        """The frames of the events with after < seq <= upto, for `transfer`."""
        with self._reading() as segments:
            yield from segments.frames(after, upto)

    def get(self, seq: int) -> Recorded:
        check_seq(seq, low=1, head=self.head)
        with self._reading() as segments:
            return segments.record(seq)

    def positions(self, type_: str, after: int = 0) -> list[int]:
        """Read only segments that hold such an event; stop at damaged data."""
        found: list[int] = []
        with suppress(LogDamaged), self._reading() as segments:
            for segment in segments:
                if segment.last_seq <= after or all(name != type_ for name, _ in segment.types()):
                    continue
                upto = min(segment.last_seq, self.head)
                frames = segment.wholes(max(after, segment.first_seq - 1), upto)
                found.extend(frame.header.seq for frame in frames if decode_meta(frame.meta)[0] == type_)
        return found

    def find(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """The seqs of those event ids that the log holds."""
        with self._reading() as segments:
            return segments.find(ids)

    def time_of(self, seq: int) -> int:
        check_seq(seq, low=0, head=self.head)
        with self._reading() as segments:
            return segments.time_of(seq)

    def effective_time(self, seq: int) -> int:
        return effective(self.time_of(seq), seq, self._corrections())

    def seq_at(self, at: int) -> int:
        head, corrections = self.head, self._corrections()
        with self._reading() as segments:
            return segments.seq_at(at, head, corrections)

    def _corrections(self) -> list[Correction]:
        with self._reading() as segments:
            return with_missing(segments.corrections(self.head), self.clock_ahead())

    def clock_ahead(self, now: int | None = None) -> ClockAhead | None:
        head, now = self.head, self._clock() if now is None else now
        return clock_ahead(seq=head, at=self.time_of(head), now=now, ahead_max=self._ahead_max)

    def chain_at(self, seq: int) -> bytes:
        check_seq(seq, low=0, head=self.head)
        with self._reading() as segments:
            return segments.chain_at(seq)

    def verify_chain(self, *, bodies: bool = True) -> list[Finding]:
        """Everything that is not as it was written; see `verification`. Encrypted bodies have digests of their own."""
        with self._reading() as segments:
            findings = verify_segments(segments, bodies=bodies)
        damage = self._writer.damage
        if damage is not None and not any(finding.seq == damage.seq for finding in findings):
            findings.append(Finding.of(damage))
        return findings

    def broken_seals(self) -> list[Path]:
        """Segments whose index or trailer is not as it was written; the events in them are checked by `verify_chain`."""
        with self._reading() as segments:
            return [segment.path for segment in segments if segment.seal_is_broken()]

    def seal_again(self) -> None:
        """Write broken seals anew; a damaged log is left as it is."""
        with self._writing():
            self._writer.seal_again()

    def status(self) -> LogStatus:
        unknown = self._readable().unknown_types()
        return LogStatus(
            kind="segments",
            path=str(self._path),
            head=self.head,
            durable=min(self.head, self._writer.durable),
            bytes=sum(segment.size() for segment in self._segments),
            segments=len(self._segments),
            unsynced_bytes=self._segments.bytes_between(self._writer.durable, self.head),
            unknown_types=unknown,
            damage=None if self._writer.damage is None else str(self._writer.damage),
            recovered=tuple(quarantined(self._disk, self._path)),
            troubles=self._troubles(),
        )

    def _troubles(self) -> tuple[str, ...]:
        troubles = []
        if self._failure is not None:
            troubles.append(f"the last write failed: {self._failure}; the next write tries again")
        if self.unfollowed is not None:
            troubles.append(self.unfollowed)
        if self._read_only and (held := self._lock.held_by_another()):
            troubles.append(f"{held}, so the log is open for reading only; each write tries again")
        if self._writer.unpublished is not None:
            troubles.append(self._writer.unpublished)
        return tuple(troubles)

    # --- closing ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Sync what was appended, write a mark for recovery, and close the files. A second call does nothing.

        Raises `LogFailed` if visible events cannot be synced; if all are durable, a failing disk is not an error here.
        """
        if self._closed:
            return
        try:
            if self._wrote and self._writer.damage is None:
                with self._writing():
                    self._writer.sync()
                    self._writer.mark()
                    self._writer.keep_index()
        except (LogFailed, LogBusy) as error:
            if self._writer.durable < self.head:
                raise LogFailed(
                    f"the events after @{self._writer.durable} could not be synced, and a power cut may take them: {error}"
                ) from error
        finally:
            self._release()

    def _release(self) -> None:
        self._closed = True
        self._segments.close()
        self._head.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
