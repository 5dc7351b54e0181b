"""Scrubbing: read sealed segments again from the disk, byte for byte, without relying on any index.

`verification` walks the frames that an index names, possibly from the page cache. Scrubbing first asks the kernel to
drop the file from its cache, walks from the header to the trailer, and checks every frame, payload digest and chain
value on the way; then the index and the trailer must be the ones that these frames give. So it finds bit rot while
good copies may still exist. The growing segment is left to `verification`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.events.disk import Disk, RealDisk, read_whole
from recollect.events.erasure import Intent
from recollect.events.log import BrokenSeal, Finding
from recollect.events.regular_files import Refused
from recollect.events.scan import FrameFile, Scan, scan
from recollect.events.segment_format import (
    HEADER_BYTES,
    TRAILER_BYTES,
    SegmentHeader,
    SegmentName,
    Trailer,
    encode_footer,
)
from recollect.events.segment_index import SegmentIndex
from recollect.events.segments import standing_at


class Scrubbed(msgspec.Struct, frozen=True, kw_only=True):
    """How much was read of sealed segments, and what is wrong there."""

    segments: int = 0
    events: int = 0
    bytes: int = 0
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: Scrubbed) -> Scrubbed:
        return Scrubbed(
            segments=self.segments + other.segments,
            events=self.events + other.events,
            bytes=self.bytes + other.bytes,
            findings=self.findings + other.findings,
        )


def sealed_segments(log: Path, disk: Disk | None = None) -> list[Path]:
    """The segments of a log that no longer grow, oldest first.

    A file at the end without a header is a segment that was only begun: the one before it may still grow.
    """
    disk = disk or RealDisk()
    names = [name for name in disk.names(log) if SegmentName.parse(name)]
    if names and _header(disk, log / names[-1]) is None:
        names.pop()
    return [log / name for name in names[:-1]]


def scrub(path: Path, disk: Disk | None = None) -> Scrubbed:
    """Read one sealed segment from its first byte to its last."""
    disk = disk or RealDisk()
    try:
        descriptor = disk.open(path, write=False)
    except Refused:
        name = SegmentName.parse(path.name)
        assert name is not None
        finding = Finding(path=str(path), offset=0, seq=name.first_seq, problem=standing_at(path))
        return Scrubbed(findings=(finding,))
    try:
        if isinstance(disk, RealDisk) and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        size = disk.size(descriptor)
        events, problem = _read(disk, path, descriptor, size)
    finally:
        disk.close(descriptor)
    findings = () if problem is None else (problem,)
    return Scrubbed(segments=1, events=events, bytes=size, findings=findings)


def _read(disk: Disk, path: Path, descriptor: int, size: int) -> tuple[int, Finding | None]:
    """How many events there are, and the first thing that is not as it was written."""
    name = SegmentName.parse(path.name)
    assert name is not None
    header = SegmentHeader.parse(disk.read(descriptor, HEADER_BYTES, 0))
    end = max(0, size - TRAILER_BYTES)
    trailer = Trailer.parse(disk.read(descriptor, TRAILER_BYTES, end))
    if header is None or (header.first_seq, header.seed) != name:
        problem = "the header of the segment is broken"
        return 0, Finding(path=str(path), offset=0, seq=name.first_seq, problem=problem)
    file = FrameFile(disk, descriptor, header.seed)
    upto = None if trailer is None else header.first_seq + trailer.events - 1
    scanned = _scanned(file, path, header, upto)
    index = SegmentIndex()
    index.put(0, scanned.whole)
    last = header.first_seq + len(index) - 1
    proof = _before_next(disk, path) if trailer is None else (trailer.frames_end, trailer.chain)
    if (scanned.end, scanned.chain) != proof:
        problem = scanned.problem or "its events are not those that were sealed"
        offset, seq = scanned.problem_offset, scanned.problem_seq
        return 0, Finding(path=str(path), offset=offset, seq=seq, problem=problem)
    if trailer is None and scanned.end == size:  # it was copied before it was sealed
        return len(index), None
    footer = encode_footer(header, index, scanned.end, scanned.chain)
    if size == scanned.end + len(footer) and disk.read(descriptor, len(footer), scanned.end) == footer:
        return len(index), None
    problem = "the seal of the segment is not the one of its events"
    return len(index), BrokenSeal(path=str(path), offset=scanned.end, seq=last, problem=problem)


def _before_next(disk: Disk, path: Path) -> tuple[int, bytes]:
    """Where this segment's frames end and their chain value, as the next segment says."""
    following = [name for name in disk.names(path.parent) if SegmentName.parse(name) and name > path.name]
    header = _header(disk, path.parent / following[0]) if following else None
    return (0, b"") if header is None else (header.before_end, header.before_chain)


def _header(disk: Disk, path: Path) -> SegmentHeader | None:
    """The header of a segment, if it can be read."""
    data = None
    with suppress(Refused):
        data = read_whole(disk, path, bytes_max=HEADER_BYTES)
    return SegmentHeader.parse(data or b"")


def _scanned(file: FrameFile, path: Path, header: SegmentHeader, upto: int | None) -> Scan:
    """Every frame with its payload; what fails is read again, because it may just be erased."""
    failed = 0
    while True:
        scanned = scan(
            file, start=HEADER_BYTES, seq=header.first_seq, chain=header.before_chain,
            upto=upto, erasing=Intent(file.disk, path.parent).pending(), bodies=True,
        )  # fmt: skip
        if scanned.problem is None or scanned.problem_seq == failed:
            return scanned
        failed = scanned.problem_seq
