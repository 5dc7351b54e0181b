"""The writing side of a segment log. Every method runs under the writer lock, in one thread at a time.

An append is: catch up with what others wrote, look for known ids, check the expected head, one write for the
whole batch, and then, by its durability, a sync and a publication (`head`). Three positions matter:

    tail      the last seq written        durable <= tail
    visible   the last seq readers see    visible <= tail
    durable   the last seq synced

Events between visible and tail are *pending*: a `group` append wrote them and waits for a shared sync. They
must not be shown, so an unsafe append, which is visible at once, syncs pending ones first. Frames found
beyond the published head were written by another process that has not published them: it died, or it is a
group append of its own that waits. They are synced and published before anything else happens.

A disk error fails the write that met it, and no later one. Batches that no reader has seen are cut and dropped
(`give_up`), and the next write first reloads the log from disk as opening it would (`recover`).

After a failed sync the kernel may treat bytes as written that never reached the disk, and the next sync, by any
process, succeeds without them. So before it syncs, a process writes again everything that is not known to be durable
and that it did not write itself without an error since. What the first process after a boot finds in the log came from
the disk; it is only synced, because writing it again could garble it in a power cut.

The sync is what makes an event durable. If only the publication after it fails, twice, the append has succeeded: this
process shows the event, others see it with the next write of any process, and `unpublished` says so until then. (An
error would make callers write it twice.) A batch whose sync failed is refused, and is either in the log as a whole or
not at all: appending the same drafts again is safe (event ids are remembered for ever), while new drafts of the same
content may end up beside it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from recollect.events.clock import stamp
from recollect.events.disk import Disk, synced_directory
from recollect.events.envelope import encode, new_event_id, type_name
from recollect.events.erasure import OVERWRITES_MAX, Intent, plan
from recollect.events.errors import HeadMoved, LogDamaged
from recollect.events.facts import Recovered
from recollect.events.frame import Entry, Frame, copy_batch, encode_batch, refuse_other_events
from recollect.events.head import HEAD, HeadFile, Position
from recollect.events.log import Clock, Durability
from recollect.events.recovery import find_damage, purge_quarantine, set_aside
from recollect.events.segment import Mark, Segment
from recollect.events.segment_format import SegmentHeader, SegmentName
from recollect.events.segments import INDEX_CACHE, Segments, Stop
from recollect.events.upcasts import VERSIONS

_MARK_EVENTS = 10_000
_MARK_INTERVAL_S = 5.0
_ACTOR = "recollect"


class SegmentWriter:
    def __init__(
        self, disk: Disk, path: Path, segments: Segments, head: HeadFile, intent: Intent, *, clock: Clock, ahead_max: int, segment_bytes: int, mirror: bool
    ) -> None:  # fmt: skip
        self._disk = disk
        self._path = path
        self._segments = segments
        self._head = head
        self._intent = intent
        self._clock = clock
        self._ahead_max = ahead_max
        self._segment_bytes = segment_bytes
        self._mirror = mirror
        self._marked = 0
        self._marked_s = time.monotonic()
        self.visible = 0
        self.durable = 0
        self.damage: LogDamaged | None = None
        self.faulty = False
        self._shown: Mark | None = None
        self._own_from = 0
        self._own_upto = -1
        self.unpublished: str | None = None
        self.unmarked: str | None = None
        self.warnings: list[str] = []

    # --- catching up -----------------------------------------------------------------------------

    def start(self) -> None:
        """Bring a log that was just opened into a state that can be written to, or find its damage."""
        self._open_up()
        if self.damage is None:
            for segment in filter(Segment.lacks_seal, self._segments):
                with suppress(OSError):  # a seal is a shortcut: without it the frames are walked
                    segment.seal()
        self._marked = self.durable

    def _open_up(self, *, again: bool = False) -> None:
        self._ensure_head()
        self._intent.finish()
        self._head.published()
        first = not again and not self._head.of_this_boot
        if first:
            self._sync_after_boot()
        self._take_over()
        if first and self.damage is None:
            self._publish(Position(self.visible, self.durable))

    def _ensure_head(self) -> None:
        """Make the head file, or make it anew if nothing in it can be read; it is on disk before any event is."""
        if self._head.create():
            self._segments.follow()
            self._head.remake(Position(self.visible, self.durable), events=self._segments.tail)

    def _sync_after_boot(self) -> None:
        """Sync on the first open since boot: complete frames were read from the disk, but may be only in its write cache."""
        self._segments.follow()
        last, tail = self._segments.last, self._segments.tail
        if last is not None and tail > 0:
            last.sync()
            self.durable = tail

    def give_up(self) -> None:
        """After a disk error, drop the events that were never visible: they may be in memory only."""
        self.faulty = True
        self._own_upto = -1
        with suppress(OSError, LogDamaged):  # tried again before anything is followed
            self._segments.rewind(self.visible)
            self.note_shown()

    def recover(self) -> None:
        """Reload the log from disk after an error, as opening it would."""
        self._own_upto = -1
        self._segments.rewind(self.visible)
        self._open_up(again=True)
        if self.damage is None:
            self._sync()
            self.faulty = False

    def harm(self) -> str | None:
        """What was done to the open files: moved away, deleted, cut, or other files written over them.

        Proved before anything is followed, written, cut or erased, by the end of what this process knows; after an
        error, when some of that may be cut already, by what was shown before.
        """
        last = self._segments.last
        if not self._head.is_in_place() or (last is not None and not last.is_in_place()):
            return f"the files in {self._path} were replaced or removed while this process had them open"
        if self.faulty:
            return None if self._shown is None else self._shown.overwritten()
        return self._segments.cut() or (None if last is None else last.mark.overwritten())

    def note_shown(self) -> None:
        """Remember a mark that no failing write takes back: all up to it is shown."""
        last = self._segments.last
        if last is not None and last.count > 0 and self.visible >= last.last_seq:
            self._shown = last.mark

    def catch_up(self) -> None:
        """Take over what other processes wrote; the size of the last segment's file shows whether they did."""
        if self.faulty:
            self.recover()
            return
        self.note_shown()
        published = self._head.published()
        if published is None:
            self._ensure_head()
        last, tail = self._segments.last, self._segments.tail
        if published is not None:
            self.visible = max(self.visible, min(published.visible, tail))
            self.durable = max(self.durable, min(published.durable, tail))
        if last is None or last.sealed or last.size() != last.end or published is None:
            self._take_over()

    def _take_over(self) -> None:
        """Follow the files to their end; recover an unfinished tail; sync and publish what was not published."""
        stop = self._segments.follow()
        self.find_damage(stop)
        if self.damage is not None:  # the damaged event was durable, and so were all before it
            self.visible = self.durable = self._segments.tail
            return
        recovered = set_aside(self._disk, self._path, self._segments, stop) if stop is not None else None
        self._show_taken_over()
        if recovered is not None and not self._mirror:
            self._append_recovered(recovered)

    def find_damage(self, stop: Stop | None) -> None:
        """Decide whether what stopped following is damage; if so, good frames before it in its batch can be read."""
        self.damage = find_damage(
            self._disk, self._path, self._segments, stop, witnessed=self._head.witnessed
        )  # fmt: skip
        last = self._segments.last
        if self.damage is not None and stop is not None and last is not None and last.name == stop.name:
            last.accept(stop.partial, stop.offset)

    def _show_taken_over(self) -> None:
        """Publish what was not published yet, or take back a publication that a power cut made untrue."""
        published, tail = self._head.published(), self._segments.tail
        last = self._segments.last
        if last is not None and last.first_seq > (0 if published is None else published.visible):
            self._finish_creation(last)
        if published is not None and published.visible >= tail:
            self.durable = max(self.durable, min(self._head.witnessed, tail))
            self.visible = tail
            if published.visible > tail:
                self._publish(Position(tail, self.durable))
        if tail > self.visible or self.faulty:
            self._sync()

    def _append_recovered(self, fact: Recovered) -> None:
        type_ = type_name(Recovered)
        self._write([Entry(new_event_id(), type_, VERSIONS[type_], _ACTOR, encode(fact))])
        self.sync()

    # --- appending -------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry], *, expect: int | None, durability: Durability) -> list[int]:
        known = self._segments.find([entry.id for entry in entries])
        refuse_other_events(entries, known, self._segments.record)
        fresh = [entry for entry in entries if entry.id not in known] if known else entries
        if fresh and expect is not None and expect != self._segments.tail:
            self.show_pending()  # so that the caller can read up to the head it is told
            raise HeadMoved(expected=expect, actual=self._segments.tail)
        if durability == "unsafe":
            self.show_pending()
        if fresh:
            first = self._write(fresh)
            known |= {entry.id: first + place for place, entry in enumerate(fresh)}
        seqs = [known[entry.id] for entry in entries]
        if durability == "durable" and max(seqs) > min(self.durable, self.visible):
            self.sync()
        elif durability == "unsafe" and fresh:
            self._publish(Position(self._segments.tail, self.durable))
        return seqs

    def _write(self, entries: Sequence[Entry]) -> int:
        """One batch behind the last one; returns its first seq."""
        tail, last_at = self._segments.tail, self._segments.last_at
        types = {entry.type for entry in entries}
        at = stamp(types, seq=tail, at=last_at, now=self._clock(), ahead_max=self._ahead_max)
        segment = self._growing(at)
        batch = encode_batch(
            entries, first_seq=tail + 1, durable_seq=self.durable, at=at, chain=segment.chain, seed=segment.header.seed,
            offset=segment.end,
        )  # fmt: skip
        segment.write(batch)
        self._wrote(tail + 1)
        return tail + 1

    def _wrote(self, first: int) -> None:
        """Remember which events at the end this process wrote itself, without a disk error since."""
        if first != self._own_upto + 1:
            self._own_from = first
        self._own_upto = self._segments.tail

    def copy(self, frames: Sequence[Frame]) -> None:
        """Whole batches of another log that continue this one, as they are; then synced and shown."""
        first = frames[0].header.seq
        if first != self._segments.tail + 1:
            raise HeadMoved(expected=first - 1, actual=self._segments.tail)
        segment = self._growing(frames[0].header.at)
        segment.write(copy_batch(frames, seed=segment.header.seed, offset=segment.end))
        self._wrote(first)
        self.sync()

    def seal_again(self) -> None:
        """Write broken seals anew, from the frames."""
        for segment in filter(Segment.seal_is_broken, self._segments):
            segment.seal()

    # --- durability ------------------------------------------------------------------------------

    def sync(self) -> None:
        """Make everything durable, then show it."""
        try:
            self._sync()
        except OSError:
            self._take_back()
            raise

    def _sync(self) -> None:
        last, tail = self._segments.last, self._segments.tail
        if last is not None and self.durable < tail:
            self._sync_segment(last)
            self.durable = tail
        if self.visible < tail or self._head.witnessed < tail or self.unpublished:
            self._publish(Position(tail, self.durable))
        overdue = time.monotonic() - self._marked_s > _MARK_INTERVAL_S
        if self.durable - self._marked >= (1 if overdue else _MARK_EVENTS):
            self.mark()

    def _sync_segment(self, last: Segment) -> None:
        """Sync; after an error try once more: the kernel reports another process's error to this one, too, but only once."""
        if self._own_from > self.durable + 1 or self._own_upto < last.last_seq:
            self._write_again(last)
        try:
            last.sync()
        except OSError:
            self._write_again(last)
            last.sync()

    def _write_again(self, last: Segment) -> None:
        try:
            last.write_again(self.durable + 1)
        except LogDamaged as damage:
            self.damage = damage
            raise

    def _take_back(self) -> None:
        """After a failed sync, cut the batches that were never visible: a second sync might succeed without writing them."""
        self.faulty = True  # before anything else: an interruption here must not leave in memory what is cut
        last = self._segments.last
        if last is not None and not last.sealed and self.durable <= self.visible < last.last_seq:
            with suppress(OSError):
                last.truncate(last.extent(max(self.visible + 1, last.first_seq))[0])

    def show_pending(self) -> None:
        """Sync the pending batches of group appends and make them visible."""
        if self.visible < self._segments.tail:
            self.sync()

    def _publish(self, position: Position) -> None:
        try:
            try:
                self._head.publish(position)
            except OSError:
                self._head.publish(position)
            self.unpublished = None
        except OSError as error:
            self.unpublished = (
                f"other processes do not see the events up to @{position.visible} before the next write: "
                f"{self._path / HEAD} could not be written: {error}"
            )
        self.visible = position.visible

    def mark(self) -> None:
        """Write a synced mark of what is durable. The events are durable without it, so a failure here loses nothing."""
        if self.durable > self._marked:
            try:
                self._head.mark(Position(self.visible, self.durable))
                self._marked, self.unmarked = self.durable, None
            except OSError as error:
                self.unmarked = f"the head file of {self._path} could not be written: {error}"
        self._marked_s = time.monotonic()

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)

    # --- segments --------------------------------------------------------------------------------

    def _growing(self, at: int) -> Segment:
        """The segment that takes the next batch; the last one is sealed when it is full."""
        last = self._segments.last
        if last is not None and not last.sealed and last.end < self._segment_bytes:
            return last
        if last is not None:
            if not last.sealed:
                self.sync()
            last.seal()  # sync it again: the sync of the process that wrote it may have failed
            self.mark()
        return self._create_segment(last, at)

    def _create_segment(self, before: Segment | None, at: int) -> Segment:
        name = SegmentName(self._segments.tail + 1, int.from_bytes(os.urandom(4), "little"))
        header = SegmentHeader(
            seed=name.seed,
            store_id=os.urandom(16) if before is None else before.header.store_id,
            first_seq=name.first_seq,
            created_at=at,
            before_end=0 if before is None else before.end,
            before_chain=self._segments.chain,
        )
        path = self._path / str(name)
        descriptor = self._new_file(path, header.encode())
        segment = Segment(self._disk, path, descriptor, header, self._intent.pending)
        self._segments.add(segment)
        return segment

    def _finish_creation(self, segment: Segment) -> None:
        """Make a segment durable whose creator may have stopped right after writing its header."""
        with synced_directory(self._disk, self._path):
            if segment.count == 0:
                segment.write_again(segment.first_seq)
                segment.sync()

    def _new_file(self, path: Path, data: bytes) -> int:
        """Create a durable, open file with this content; leave no file behind if that fails."""
        descriptor: int | None = None
        try:
            with synced_directory(self._disk, self._path):
                descriptor = self._disk.create(path)
                self._disk.write(descriptor, data, 0)
                self._disk.sync(descriptor)
        except OSError:
            if descriptor is not None:
                self._disk.close(descriptor)
                with suppress(OSError):
                    self._disk.remove(path)
            raise
        return descriptor

    def keep_index(self) -> None:
        """Store the growing segment's index for the next open; it is checked there and may be lost."""
        last = self._segments.last
        if last is None or last.sealed or last.count == 0:
            return
        unfinished = self._path / f"{INDEX_CACHE}.new"
        try:
            self._write_over(unfinished, last.footer())
            self._disk.rename(unfinished, self._path / INDEX_CACHE)
        except OSError as error:
            with suppress(OSError):
                self._disk.remove(unfinished)
            self._warn(
                f"{self._path / INDEX_CACHE} could not be written: {error}; the next opening takes longer"
            )

    def _write_over(self, path: Path, data: bytes) -> None:
        descriptor = self._disk.open(path, create=True)
        try:
            self._disk.truncate(descriptor, 0)
            self._disk.write(descriptor, data, 0)
        finally:
            self._disk.close(descriptor)

    # --- erasing ---------------------------------------------------------------------------------

    def erase(self, seqs: Sequence[int]) -> None:
        """Overwrite payloads for good, after deleting what recoveries set aside.

        The order matters: if the payloads are gone after a power cut, the copies in quarantine are gone, too.
        """
        self._intent.finish()
        self.sync()
        overwrites = plan(self._segments, seqs)
        purge_quarantine(self._disk, self._path)
        for start in range(0, len(overwrites), OVERWRITES_MAX):
            self._intent.begin(overwrites[start : start + OVERWRITES_MAX])
            self._intent.finish()
