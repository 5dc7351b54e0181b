"""The segments of a log as one sequence: which files there are, how they join, and their events.

`follow` takes over what is on disk, from nothing at open and from where it stood later on. Sealed segments
are taken over from their trailers; only the last one is scanned. It goes to the first thing that does not
fit and says where and why (`Stop`); whether that is damage or a write that never finished is for `recovery`
to decide. No lock is taken here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from recollect.events.clock import CLOCK_CORRECTED, Correction, stretch
from recollect.events.disk import Disk, read_whole
from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput, LogDamaged
from recollect.events.frame import GENESIS, Frame, Place
from recollect.events.regular_files import Refused, kind_of
from recollect.events.segment import Erasing, Segment
from recollect.events.segment_format import HEADER_BYTES, SegmentHeader, SegmentName
from recollect.events.segment_index import TypeCounts
from recollect.events.upcasts import VERSIONS

INDEX_CACHE = "active.index"
SECOND_FILE = "a second file claims the events"


class Stop(NamedTuple):
    """Where following the files stopped too early.

    From `cut_seq` at `cut_offset` on no batch is whole; the first bad frame is `seq` at `offset`, and the
    frames of its batch before it are `partial`. `proven` means that the files themselves show that more
    was there.
    """

    name: SegmentName
    cut_offset: int
    cut_seq: int
    offset: int
    seq: int
    reason: str
    partial: tuple[Place, ...] = ()
    proven: bool = False


def standing_at(path: Path) -> str:
    """What is wrong where something else stands in the place of a segment."""
    return f"in the place of its segment is {kind_of(path) or 'no regular file'}"


class Segments:
    """Grows only at its end; reading needs no lock while another thread follows."""

    def __init__(self, disk: Disk, path: Path, erasing: Erasing, *, write: bool) -> None:
        self._disk = disk
        self._path = path
        self._erasing = erasing
        self._write = write
        self._segments: list[Segment] = []
        self._firsts: list[int] = []
        self._corrections: tuple[int, list[Correction]] = (0, [])
        self._dropped: list[Segment] = []

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def last(self) -> Segment | None:
        return self._segments[-1] if self._segments else None

    @property
    def tail(self) -> int:
        """The last seq taken over or written."""
        return self._segments[-1].last_seq if self._segments else 0

    @property
    def chain(self) -> bytes:
        return self._segments[-1].chain if self._segments else GENESIS

    @property
    def last_at(self) -> int:
        """Recorded time of the last event."""
        return self._segments[-1].last_at if self._segments else 0

    def of(self, seq: int) -> Segment:
        """The segment that holds `seq`."""
        return self._segments[bisect_right(self._firsts, seq) - 1]

    def close(self) -> None:
        for segment in [*self._segments, *self._dropped]:
            segment.close()

    # --- following -------------------------------------------------------------------------------

    def follow(self, upto: int | None = None) -> Stop | None:
        """Take over everything up to `upto`, or all there is; None if nothing was in the way."""
        stop: Stop | None = None
        names: list[SegmentName] | None = None
        while upto is None or self.tail < upto:
            last = self.last
            if last is not None and not last.sealed:
                stop = self._follow_last(last, upto)
                if upto is not None and self.tail >= upto:
                    return None
            names = self._names() if names is None else names
            adopted = {segment.path.name for segment in self._segments}
            names = [name for name in names if str(name) not in adopted]
            if not names:
                return stop
            refusal = self._adopt(names[0], is_last=len(names) == 1, stop=stop)
            if refusal is not None:
                return refusal
            stop = None
        return None

    def _names(self) -> list[SegmentName]:
        parsed = (SegmentName.parse(name) for name in self._disk.names(self._path))
        return sorted(name for name in parsed if name is not None)

    def _follow_last(self, segment: Segment, upto: int | None) -> Stop | None:
        scanned = segment.follow(upto)
        if scanned.problem is None or segment.adopt_trailer():
            return None
        return Stop(
            segment.name, segment.end, segment.last_seq + 1, scanned.problem_offset, scanned.problem_seq,
            scanned.problem, tuple(scanned.partial),
        )  # fmt: skip

    def _adopt(self, name: SegmentName, *, is_last: bool, stop: Stop | None) -> Stop | None:
        """Open the next segment, if it continues what there is."""
        try:
            descriptor = self._disk.open(self._path / str(name), write=self._write)
        except Refused:
            if stop is not None:
                return stop._replace(proven=True)
            seq = self.tail + 1
            return Stop(name, 0, seq, 0, seq, standing_at(self._path / str(name)), proven=True)
        try:
            header = SegmentHeader.parse(self._disk.read(descriptor, HEADER_BYTES, 0))
        except OSError:
            self._disk.close(descriptor)
            raise
        reason = self._misfit(name, header)
        if reason is not None or header is None:
            self._disk.close(descriptor)
            if stop is not None:
                return stop._replace(proven=True)
            seq, unfinished = self.tail + 1, header is None and name.first_seq == self.tail + 1 and is_last
            return Stop(name, 0, seq, 0, seq, reason or "", proven=not unfinished)
        if self.last is not None:
            self.last.sealed = (
                True  # the next segment states where this one ends, so it needs no readable trailer
            )
        segment = Segment(self._disk, self._path / str(name), descriptor, header, self._erasing)
        self.add(segment)
        if not segment.adopt_trailer() and is_last:
            cache = read_whole(self._disk, self._path / INDEX_CACHE, bytes_max=segment.size())
            if cache is not None:
                segment.adopt_index(cache)
        return None

    def _misfit(self, name: SegmentName, header: SegmentHeader | None) -> str | None:
        if name.first_seq > self.tail + 1:
            return f"the next segment begins at @{name.first_seq}"
        if name.first_seq <= self.tail:
            return f"{SECOND_FILE} from @{name.first_seq} on"
        if header is None:
            return "the header of its segment cannot be read"
        if (header.first_seq, header.seed) != name:
            return "the header of its segment belongs to another file"
        before = (self.last.end, self.last.header.store_id) if self.last is not None else (0, header.store_id)
        if (header.before_end, header.store_id) != before or header.before_chain != self.chain:
            return "its segment does not continue the one before"
        return None

    def add(self, segment: Segment) -> None:
        if segment.count == 0:
            segment.last_at = self.last_at
        self._segments.append(segment)
        self._firsts.append(segment.first_seq)

    def rewind(self, seq: int) -> None:
        """Forget the events after `seq`, to be followed anew; reading those before it goes on meanwhile.

        The files of segments that are dropped stay open until it happens again: another thread may be asking for
        their sizes.
        """
        kept = [segment for segment in self._segments if segment.first_seq <= seq]
        dropped = self._segments[len(kept) :]
        if kept and kept[-1].last_seq > seq:
            kept[-1] = kept[-1].rewound(seq)
        self._segments = kept
        self._firsts = [segment.first_seq for segment in kept]
        if dropped:
            for segment in self._dropped:
                segment.close()
            self._dropped = dropped

    def drop_last(self) -> None:
        """Forget the last segment, which holds no event."""
        segment = self._segments.pop()
        self._firsts.pop()
        assert segment.count == 0
        segment.close()

    # --- reading ---------------------------------------------------------------------------------

    def record(self, seq: int) -> Recorded:
        return self.of(seq).record(seq)

    def records(self, after: int, upto: int) -> Iterator[Recorded]:
        while after < upto:
            segment = self.of(after + 1)
            stop = min(upto, segment.last_seq)
            yield from segment.records(after, stop)
            after = stop

    def frames(self, after: int, upto: int) -> Iterator[Frame]:
        while after < upto:
            segment = self.of(after + 1)
            stop = min(upto, segment.last_seq)
            yield from segment.wholes(after, stop)
            after = stop

    def time_of(self, seq: int) -> int:
        if seq == 0:
            return 0
        segment = self.of(seq)
        return segment.index.times[seq - segment.first_seq]

    def seq_at(self, at: int, upto: int, corrections: Sequence[Correction]) -> int:
        """The last seq <= upto whose effective time is not after `at`."""
        first, last = stretch(at, upto, corrections)
        if last < first:
            return last
        begin, end = (bisect_right(self._firsts, seq) - 1 for seq in (first, last))
        segment = self._segments[bisect_right(self._segments, at, begin, end, key=lambda one: one.last_at)]
        low, high = max(first - segment.first_seq, 0), min(last, segment.last_seq) - segment.first_seq + 1
        return segment.first_seq - 1 + bisect_right(segment.index.times, at, low, high)

    def corrections(self, upto: int) -> list[Correction]:
        """Where recorded time was set back, up to a seq; only segments that hold a correction are looked through."""
        known, found = self._corrections
        if upto > known:
            with suppress(LogDamaged):
                fresh = [one for segment in self._segments for one in self._set_back(segment, known, upto)]
                known, found = self._corrections = upto, found + fresh
        return [one for one in found if one.seq <= upto]

    def _set_back(self, segment: Segment, after: int, upto: int) -> Iterator[Correction]:
        first, last = max(after + 1, segment.first_seq), min(upto, segment.last_seq)
        if last < first or all(name != CLOCK_CORRECTED for name, _ in segment.types()):
            return
        before = self.time_of(first - 1)
        for seq in range(first, last + 1):
            at = segment.index.times[seq - segment.first_seq]
            if at < before:
                yield Correction(seq, at)
            before = at

    def chain_at(self, seq: int) -> bytes:
        return GENESIS if seq == 0 else self.of(seq).header_of(seq).chain

    def cut(self) -> str | None:
        """Which file has fewer bytes than were read from it or written to it, and how many."""
        for segment in self._segments:
            size = segment.size()
            if size < segment.end:
                return (
                    f"{segment.path} has {size:,} bytes and had {segment.end:,}: it was cut, or an older copy was "
                    f"written over it, while this process had it open"
                )
        return None

    def sync_last(self) -> bool:
        """Sync what will be shown; if the disk refuses, go on without."""
        try:
            if self.last is not None:
                self.last.sync()
        except OSError:
            return False
        return True

    def bytes_between(self, after: int, upto: int) -> int:
        """How many bytes the frames after the event `after` take, up to and including that of `upto`."""
        if after >= upto:
            return 0
        first, last = self.of(after + 1), self.of(upto)
        if first is last:
            return last.extent(upto)[1] - last.extent(after + 1)[0]
        between = [segment for segment in self if first.last_seq < segment.last_seq < upto]
        return (
            first.size() - first.extent(after + 1)[0]
            + sum(segment.size() for segment in between)
            + last.extent(upto)[1]
        )  # fmt: skip

    def unknown_types(self) -> dict[str, int]:
        """How many events of each type have a type or version that this program does not know, where they can be read."""
        unknown: dict[str, int] = {}
        for segment in self:
            types = TypeCounts()
            with suppress(LogDamaged):
                types = segment.types()
            for (type_, version), count in types.items():
                if version > VERSIONS.get(type_, 0):
                    unknown[type_] = unknown.get(type_, 0) + count
        return unknown

    def find(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        """The seqs of those ids that the log holds."""
        found: dict[bytes, int] = {}
        id_min, id_max = min(ids), max(ids)
        for segment in self._segments:
            found |= segment.find(ids, id_min, id_max)
        return found


def check_seq(seq: int, *, low: int, head: int) -> None:
    if not low <= seq <= head:
        raise InvalidInput(f"there is no event @{seq}; the log goes from @1 to @{head}")
