"""One segment file: growing or sealed, its index, and its events.

A sealed segment is taken over from its trailer alone; its index is read when an event of it is first asked
for. A growing one is scanned once and then followed. If a stored index cannot be read, the frames are walked
instead: an index is never more than a shortcut.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from recollect.events.disk import Disk
from recollect.events.envelope import Recorded
from recollect.events.errors import LogDamaged
from recollect.events.frame import (
    CHAIN_OFFSET,
    BadFrame,
    Batch,
    Frame,
    Header,
    Place,
    check_frame,
    decode_frame,
    parse_header,
)
from recollect.events.frame import HEADER_BYTES as FRAME_HEADER_BYTES
from recollect.events.scan import CHUNK_BYTES, FrameFile, Scan, scan
from recollect.events.segment_format import (
    HEADER_BYTES,
    TRAILER_BYTES,
    SegmentHeader,
    SegmentName,
    Trailer,
    encode_footer,
    footer_digest,
)
from recollect.events.segment_index import SegmentIndex, TypeCounts

Erasing = Callable[[], frozenset[int]]


class Mark(NamedTuple):
    """Bytes that stand in a segment's file as long as it holds the events that this process knows.

    They contain the chain value of the last whole batch, which no other history has.
    """

    file: FrameFile
    path: Path
    offset: int
    data: bytes

    def overwritten(self) -> str | None:
        """That its file does not hold any more what it held, if so."""
        if self.file.disk.read(self.file.descriptor, len(self.data), self.offset) == self.data:
            return None
        return (
            f"{self.path} does not hold the events any more that this process knows: another copy was written over it, "
            f"or it was damaged, while this process had it open"
        )


class Segment:
    """Events first_seq … last_seq; their frames end at byte `end` with the chain value `chain`."""

    def __init__(
        self, disk: Disk, path: Path, descriptor: int, header: SegmentHeader, erasing: Erasing
    ) -> None:
        self.path = path
        self.header = header
        self.first_seq = header.first_seq
        self.end = HEADER_BYTES
        self.chain = header.before_chain
        self.count = 0
        self.last_at = 0
        self.sealed = False
        self.file = FrameFile(disk, descriptor, header.seed)
        self._mark: Mark | None = Mark(self.file, path, 0, header.encode())
        self._trailer: Trailer | None = None
        self._index: SegmentIndex | None = SegmentIndex()
        self._erasing = erasing

    @property
    def name(self) -> SegmentName:
        return SegmentName(self.first_seq, self.header.seed)

    @property
    def last_seq(self) -> int:
        return self.first_seq + self.count - 1

    @property
    def mark(self) -> Mark:
        """It lies in the frames, never in the seal, which may be taken off again; looked up once where only the trailer was read."""
        if self._mark is None:
            try:
                offset = self.index.offsets[-1] + CHAIN_OFFSET
            except LogDamaged:  # told as such where it is read
                return Mark(self.file, self.path, 0, self.header.encode())
            self._mark = Mark(self.file, self.path, offset, self.chain)
        return self._mark

    def size(self) -> int:
        return self.file.disk.size(self.file.descriptor)

    def is_in_place(self) -> bool:
        return self.file.disk.size_in_place(self.file.descriptor) is not None

    def sync(self) -> None:
        self.file.disk.sync(self.file.descriptor)

    def truncate(self, size: int) -> None:
        self.file.disk.truncate(self.file.descriptor, size)

    def close(self) -> None:
        self.file.disk.close(self.file.descriptor)

    # --- taking over what is on disk -------------------------------------------------------------

    def adopt_trailer(self) -> bool:
        """Take over a sealed segment from its trailer; False if it has no valid trailer."""
        size = self.size()
        start = max(HEADER_BYTES, size - TRAILER_BYTES)
        trailer = Trailer.parse(self.file.disk.read(self.file.descriptor, TRAILER_BYTES, start))
        if trailer is None or trailer.frames_end + trailer.index_bytes + TRAILER_BYTES != size:
            return False
        if self.count == 0:
            self._adopt(trailer, None, None)
        elif (trailer.frames_end, trailer.chain) != (self.end, self.chain):
            return False
        self._trailer, self.sealed = trailer, True
        return True

    def adopt_index(self, footer: bytes) -> bool:
        """Take over a growing segment from an index kept at the last close; False if its end disagrees."""
        trailer, body = Trailer.parse(footer[-TRAILER_BYTES:]), footer[:-TRAILER_BYTES]
        if trailer is None or trailer.events == 0 or self.size() < trailer.frames_end:
            return False
        if footer_digest(self.header, trailer.chain, body) != trailer.digest:
            return False
        index = SegmentIndex.decode(body, trailer.events)
        start = index.offsets[-1]
        frame = self.file.disk.read(self.file.descriptor, trailer.frames_end - start, start)
        try:
            check_frame(frame, 0, trailer.frames_end - start, self.file.seed)
            header = parse_header(frame, 0, self.file.seed)
        except BadFrame:
            return False
        if header.chain != trailer.chain:
            return False
        self._adopt(trailer, index, Mark(self.file, self.path, start + CHAIN_OFFSET, header.chain))
        return True

    def _adopt(self, trailer: Trailer, index: SegmentIndex | None, mark: Mark | None) -> None:
        self.end, self.chain = trailer.frames_end, trailer.chain
        self.count, self.last_at = trailer.events, trailer.last_at
        self._index, self._mark = index, mark

    def follow(self, upto: int | None = None) -> Scan:
        """Take over the whole batches behind `end`; says what stopped it."""
        scanned = scan(
            self.file, start=self.end, seq=self.last_seq + 1, chain=self.chain, upto=upto, erasing=self._erasing()
        )  # fmt: skip
        self._take(scanned.whole, end=scanned.end, chain=scanned.chain)
        return scanned

    def rewound(self, last_seq: int) -> Segment:
        """The same file with the events up to this one alone; what stands behind them is followed anew."""
        count = last_seq + 1 - self.first_seq
        segment = Segment(self.file.disk, self.path, self.file.descriptor, self.header, self._erasing)
        index = self.index if self.index.can_be_cut(count) else self._walked_index()
        segment._index = index.prefix(count)
        segment.count, segment.last_at = count, segment._index.times[-1]
        segment.end = self.extent(last_seq)[1]
        segment.chain = self.header_of(last_seq).chain
        offset = segment.extent(last_seq)[0] + CHAIN_OFFSET
        segment._mark = Mark(segment.file, segment.path, offset, segment.chain)
        return segment

    def accept(self, places: Sequence[Place], end: int) -> None:
        """Take over events of an incomplete batch: they can be read, but nothing may be appended after them."""
        self._take(places, end=end, chain=self.chain)

    def _take(self, places: Sequence[Place], *, end: int, chain: bytes) -> None:
        """Count these events, which are on disk, as this segment's.

        Ctrl-C may interrupt any call. What it leaves in the index is not counted, and is replaced when the frames are
        taken over again. There is no call between the assignments, so they happen all or not at all.
        """
        self.index.put(self.count, places)
        count, last_at = self.count + len(places), places[-1].at if places else self.last_at
        if chain != self.chain:  # not of a part of a batch
            self._mark = Mark(self.file, self.path, places[-1].offset + CHAIN_OFFSET, chain)
        self.count = count
        self.last_at = last_at
        self.chain = chain
        self.end = end

    # --- writing ---------------------------------------------------------------------------------

    def write(self, batch: Batch) -> None:
        """Add a batch whose places begin at the end, in one write, not synced yet."""
        assert not self.sealed
        self._write_at_end(batch.blob)
        self._take(batch.places, end=self.end + len(batch.blob), chain=batch.chain)

    def write_again(self, seq: int) -> None:
        """Read the frames from `seq` on and, if they are whole, write the same bytes again.

        After a failed sync the kernel may treat bytes as written that never reached the disk: the next sync then
        succeeds without writing them.
        """
        seq = max(seq, self.first_seq)
        first = seq == self.first_seq
        begin = HEADER_BYTES if first else self.extent(seq)[0]
        chain = self.header.before_chain if first else self.header_of(seq - 1).chain
        found = scan(
            self.file, start=begin, seq=seq, chain=chain, upto=self.last_seq, erasing=self._erasing()
        )  # fmt: skip
        if found.problem is not None or found.end < self.end:
            reason = found.problem or "it cannot be read back after a failed sync"
            raise self.damaged(found.problem_offset, found.problem_seq, reason)
        if first:
            self.file.disk.write(self.file.descriptor, self.header.encode(), 0)
        for at in range(begin, self.end, CHUNK_BYTES):
            data = self.file.disk.read(self.file.descriptor, min(CHUNK_BYTES, self.end - at), at)
            self.file.disk.write(self.file.descriptor, data, at)

    def footer(self) -> bytes:
        return encode_footer(self.header, self.index, self.end, self.chain)

    def seal(self) -> None:
        """Put the footer behind the frames, durably; nothing is added afterwards."""
        assert self.count > 0
        self.sealed = False
        footer = self.footer()
        self._write_at_end(footer)
        try:
            self.truncate(self.end + len(footer))  # a broken seal may have been longer
            self.sync()
        except OSError:  # perhaps caused by another process: the kernel reports it once to every process
            self._write_at_end(footer)
            self.sync()
        self._trailer, self.sealed = Trailer.parse(footer[-TRAILER_BYTES:]), True

    def lacks_seal(self) -> bool:
        """Whether this is a copy from before the file was sealed; the next segment proves its frames, and nothing is lost."""
        return self.sealed and self._trailer is None and self.count > 0 and self.size() == self.end

    def seal_is_broken(self) -> bool:
        """Whether what stands behind the frames is no index and trailer of theirs; the events can be read without."""
        return self.sealed and self.count > 0 and self.stored_index() is None and not self.lacks_seal()

    def _write_at_end(self, data: bytes) -> None:
        try:
            self.file.disk.write(self.file.descriptor, data, self.end)
        except OSError:
            with suppress(OSError):
                self.truncate(self.end)
            raise

    # --- the index -------------------------------------------------------------------------------

    @property
    def index(self) -> SegmentIndex:
        if self._index is None:
            stored = self.stored_index()
            self._index = stored if stored is not None else self._walked_index()
        return self._index

    def stored_index(self) -> SegmentIndex | None:
        """The index behind the frames; None if it is not there or not whole."""
        trailer = self._trailer
        if trailer is None:
            return None
        body = self.file.disk.read(self.file.descriptor, trailer.index_bytes, trailer.frames_end)
        if footer_digest(self.header, trailer.chain, body) != trailer.digest:
            return None
        return SegmentIndex.decode(body, trailer.events)

    def _walked_index(self) -> SegmentIndex:
        walked = scan(
            self.file, start=HEADER_BYTES, seq=self.first_seq, chain=self.header.before_chain,
            upto=self.last_seq, erasing=self._erasing(),
        )  # fmt: skip
        if walked.problem is not None:
            raise self.damaged(walked.problem_offset, walked.problem_seq, walked.problem)
        index = SegmentIndex()
        index.put(0, walked.whole)
        return index

    def types(self) -> TypeCounts:
        """How many events of which type and version; an index read only for this is not kept."""
        index = self._index if self._index is not None else self.stored_index()
        index = index if index is not None else self.index
        return index.types(self.count)

    def find(self, ids: Sequence[bytes], id_min: bytes, id_max: bytes) -> dict[bytes, int]:
        """The seqs of those ids that are here; `id_min` and `id_max` are the ends of `ids`."""
        if not self.sealed:
            found = self.index.find(ids)
        elif self._trailer is None or (id_min <= self._trailer.id_max and self._trailer.id_min <= id_max):
            found = self.index.find_sealed(ids)
        else:
            return {}
        return {id_: self.first_seq + place for id_, place in found.items()}

    # --- reading ---------------------------------------------------------------------------------

    def extent(self, seq: int) -> tuple[int, int]:
        """Where the frame of `seq` begins and ends."""
        end = self.end  # before the offsets: a writing thread adds to those first
        offsets, place = self.index.offsets, seq - self.first_seq
        return offsets[place], offsets[place + 1] if place + 1 < len(offsets) else end

    def frame(self, seq: int) -> bytes:
        begin, end = self.extent(seq)
        return self.file.disk.read(self.file.descriptor, end - begin, begin)

    def whole(self, seq: int) -> Frame:
        """The frame of an event after checking its checksums; a frame that is being erased has no body any more."""
        erasing = seq in self._erasing()
        header, frame = self._headed(seq)
        try:
            if erasing:
                return Frame(header, frame[FRAME_HEADER_BYTES : header.body_offset], bytes(header.body_bytes))
            check_frame(frame, 0, len(frame), self.file.seed)
            return Frame.parse(frame, self.file.seed)
        except BadFrame as bad:
            raise self.damaged(self.extent(seq)[0], seq, str(bad)) from bad

    def wholes(self, after: int, upto: int) -> Iterator[Frame]:
        """The frames of the events with after < seq <= upto, checked as `whole` does."""
        seed = self.file.seed
        for seq, frame in self.frames(after, upto):
            try:
                check_frame(frame, 0, len(frame), seed)
                yield Frame.parse(frame, seed)
            except BadFrame:
                yield self.whole(seq)

    def header_of(self, seq: int) -> Header:
        """The header of an event, checked."""
        return self._headed(seq)[0]

    def _headed(self, seq: int) -> tuple[Header, bytes]:
        """The checked header of an event, and the whole frame."""
        frame = self.frame(seq)
        try:
            header = parse_header(frame, 0, self.file.seed)
        except BadFrame as bad:
            raise self.damaged(self.extent(seq)[0], seq, str(bad)) from bad
        if header.seq != seq:
            raise self.damaged(self.extent(seq)[0], seq, f"another frame (@{header.seq}) stands in its place")
        return header, frame

    def record(self, seq: int) -> Recorded:
        frame = self.frame(seq)
        try:
            return decode_frame(frame, 0, len(frame), seq, self.file.seed)
        except BadFrame:
            return self.whole(seq).recorded()

    def records(self, after: int, upto: int) -> Iterator[Recorded]:
        """Events with after < seq <= upto."""
        seed = self.file.seed
        for data, extents in self._pieces(after, upto):
            for seq, start, end in extents:
                try:
                    yield decode_frame(data, start, end, seq, seed)
                except BadFrame:
                    yield self.whole(seq).recorded()

    def frames(self, after: int, upto: int) -> Iterator[tuple[int, bytes]]:
        """Every frame with after < seq <= upto and its seq; nothing is checked."""
        for data, extents in self._pieces(after, upto):
            for seq, start, end in extents:
                yield seq, data[start:end]

    def _pieces(self, after: int, upto: int) -> Iterator[tuple[bytes, Iterable[tuple[int, int, int]]]]:
        """The frames with after < seq <= upto in large pieces: bytes, and in them each seq with where it begins and ends."""
        while after < upto:
            file_end = self.end  # before the offsets: a writing thread adds to those first
            offsets, place, stop = self.index.offsets, after + 1 - self.first_seq, upto + 1 - self.first_seq
            begin = offsets[place]
            fits = bisect_right(offsets, begin + CHUNK_BYTES, place + 1) - 1
            last = min(max(fits, place + 1), stop)
            ends = [offset - begin for offset in offsets[place + 1 : last + 1]]
            if len(ends) < last - place:
                ends.append(file_end - begin)
            data = self.file.disk.read(self.file.descriptor, ends[-1], begin)
            yield data, zip(range(after + 1, upto + 1), [0, *ends[:-1]], ends, strict=False)
            after += len(ends)

    def damaged(self, offset: int, seq: int, reason: str) -> LogDamaged:
        return LogDamaged(path=str(self.path), offset=offset, seq=seq, reason=reason)
