"""Scrubbing: read sealed segments again from the disk, byte for byte, without relying on any index.

`verification` walks the frames that an index names, possibly from the page cache. Scrubbing first asks the kernel to
drop the file from its cache, walks from the header to the trailer, and checks every frame, payload digest and chain
value on the way; then the index and the trailer must be the ones that these frames give. So it finds bit rot while
good copies may still exist. The growing segment is left to `verification`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from recollect.events.disk import Disk, RealDisk
from recollect.events.erasure import Intent
from recollect.events.frame import HEADER_BYTES as FRAME_HEADER_BYTES
from recollect.events.frame import BadFrame, Header, decode_meta, parse_header
from recollect.events.log import Finding
from recollect.events.scan import CHUNK_BYTES
from recollect.events.segment_format import (
    HEADER_BYTES,
    TRAILER_BYTES,
    SegmentHeader,
    SegmentName,
    Trailer,
    encode_footer,
)
from recollect.events.segment_index import Place, SegmentIndex
from recollect.events.verification import checked


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
    """The segments of a log that no longer grow, oldest first."""
    names = [name for name in (disk or RealDisk()).names(log) if SegmentName.parse(name)]
    return [log / name for name in names[:-1]]


def scrub(path: Path, disk: Disk | None = None) -> Scrubbed:
    """Read one sealed segment from its first byte to its last."""
    disk = disk or RealDisk()
    descriptor = disk.open(path, write=False)
    try:
        if isinstance(disk, RealDisk) and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        pass_ = _Pass(disk, path, descriptor)
        findings = tuple(pass_.findings())
        return Scrubbed(segments=1, events=pass_.events, bytes=disk.size(descriptor), findings=findings)
    finally:
        disk.close(descriptor)


class _Pass:
    """One walk through one file."""

    def __init__(self, disk: Disk, path: Path, descriptor: int) -> None:
        self._disk = disk
        self._path = path
        self._descriptor = descriptor
        self._erasing = Intent(disk, path.parent).pending()
        self.events = 0

    def findings(self) -> Iterator[Finding]:
        name = SegmentName.parse(self._path.name)
        assert name is not None
        size = self._disk.size(self._descriptor)
        header = SegmentHeader.parse(self._disk.read(self._descriptor, HEADER_BYTES, 0))
        end = max(0, size - TRAILER_BYTES)
        trailer = Trailer.parse(self._disk.read(self._descriptor, TRAILER_BYTES, end))
        if header is None or (header.seed, header.first_seq) != (name.seed, name.first_seq):
            yield self._finding(0, name.first_seq, "the header of the segment is broken")
            return
        if trailer is None:
            yield self._finding(end, name.first_seq, "the seal of the segment is broken")
            return
        yield from self._frames(header, trailer, size)

    def _frames(self, header: SegmentHeader, trailer: Trailer, size: int) -> Iterator[Finding]:
        """Every frame, then the footer that these frames give."""
        places: list[Place] = []
        offset, seq, chain = HEADER_BYTES, header.first_seq, header.before_chain
        data, start, looked_again = b"", 0, False
        while offset < trailer.frames_end:
            if len(data) - start < FRAME_HEADER_BYTES:
                data, start = self._disk.read(self._descriptor, CHUNK_BYTES, offset), 0
            try:
                parsed = parse_header(data, start, header.seed)
                if len(data) - start < parsed.length:
                    data, start = (
                        self._disk.read(self._descriptor, max(CHUNK_BYTES, parsed.length), offset),
                        0,
                    )
                frame = data[start : start + parsed.length]
                found = self._checked(frame, parsed, seq, header.seed, chain)
            except BadFrame as bad:
                if looked_again:
                    yield self._finding(offset, seq, str(bad))
                    return
                self._erasing = Intent(self._disk, self._path.parent).pending()  # it may just be erased
                data, start, looked_again = b"", 0, True
                continue
            looked_again = False
            type_, _ = decode_meta(frame[FRAME_HEADER_BYTES : found.body_offset])
            places.append(Place(offset, found.at, found.id, type_, found.version))
            offset, start, seq, chain = offset + found.length, start + found.length, seq + 1, found.chain
        self.events = len(places)
        index = SegmentIndex()
        index.put(0, places)
        footer = self._disk.read(self._descriptor, size - offset, offset)
        if footer != encode_footer(header, index, offset, chain):
            yield self._finding(offset, seq - 1, "the seal of the segment is not the one of its events")

    def _checked(self, frame: bytes, header: Header, seq: int, seed: int, chain: bytes) -> Header:
        """Check a frame; of one that is being erased right now, only the header."""
        return header if header.seq == seq and seq in self._erasing else checked(frame, seq, seed, chain)

    def _finding(self, offset: int, seq: int, problem: str) -> Finding:
        return Finding(path=str(self._path), offset=offset, seq=seq, problem=problem)
