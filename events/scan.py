"""Walking through frames without an index: what stands in a segment from a given offset on.

A scan checks header CRC, frame CRC, seq, batch positions and chain, and payload digests if it is told to. It ends at
the end of the file, at the seq it was told to reach, or at the first frame that fails, and says which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recollect.events.disk import Disk
from recollect.events.frame import (
    FRAME_BYTES_MIN,
    HEADER_BYTES,
    MAGIC,
    BadFrame,
    Frame,
    Header,
    Place,
    check_body,
    check_chain,
    check_frame,
    decode_meta,
    parse_header,
)

CHUNK_BYTES = 1024 * 1024


class FrameFile(NamedTuple):
    """Where frames are read from."""

    disk: Disk
    descriptor: int
    seed: int


class Scan(NamedTuple):
    """Whole batches, then the events of an incomplete batch, then why the scan ended."""

    whole: list[Place]
    partial: list[Place]
    end: int
    chain: bytes
    problem: str | None
    problem_offset: int
    problem_seq: int


def scan(
    file: FrameFile,
    *,
    start: int,
    seq: int,
    chain: bytes,
    upto: int | None = None,
    erasing: frozenset[int] = frozenset(),
    bodies: bool = False,
) -> Scan:
    """The frames from `start` on, the first of which should be `seq` and follow `chain`; with `bodies` payloads, too.

    Frames in `erasing` may have a body that is half overwritten.
    """
    whole: list[Place] = []
    partial: list[Place] = []
    offset, end, last_chain = start, start, chain
    problem: str | None = None
    frames = _frames(file, start, erasing, bodies)
    while upto is None or seq <= upto:
        try:
            found = next(frames, None)
            if found is None:
                problem = "its batch is not complete" if partial else None
                break
            data, at, header = found
            _check_place(header, seq=seq, position=len(partial))
            check_chain(chain, data, at, header)
        except BadFrame as bad:
            problem = str(bad)
            break
        chain = header.chain
        type_, _ = decode_meta(data[at + HEADER_BYTES : at + header.body_offset])
        partial.append(Place(offset, header.at, header.id, type_, header.version))
        offset += header.length
        seq += 1
        if len(partial) == header.batch:
            whole += partial
            partial = []
            end, last_chain = offset, chain
    return Scan(whole, partial, end, last_chain, problem, offset, seq)


def _check_place(header: Header, *, seq: int, position: int) -> None:
    if header.seq != seq:
        raise BadFrame(f"another frame (@{header.seq}) stands in its place")
    if header.position != position:
        raise BadFrame("the batch before it is not complete")


def _frames(
    file: FrameFile, offset: int, erasing: frozenset[int], bodies: bool
) -> Iterator[tuple[bytes, int, Header]]:
    """Frame after frame as (bytes, start in them, header), up to the end of the file."""
    size = file.disk.size(file.descriptor)
    data, start = b"", 0
    while offset < size:
        if len(data) - start < HEADER_BYTES:
            data, start = file.disk.read(file.descriptor, CHUNK_BYTES, offset), 0
        header = parse_header(data, start, file.seed)
        if len(data) - start < header.length:
            data, start = file.disk.read(file.descriptor, max(CHUNK_BYTES, header.length), offset), 0
        if header.seq not in erasing:
            check_frame(data, start, start + header.length, file.seed)
            if bodies:
                check_body(data, start, header)
        yield data, start, header
        offset += header.length
        start += header.length


def find_frames(data: bytes, start: int, seed: int) -> Iterator[Frame]:
    """Every whole frame in `data` from `start` on (a multiple of 8), at any multiple of 8."""
    at = data.find(MAGIC, start)
    while at >= 0:
        if at % 8 == start % 8 and len(data) - at >= FRAME_BYTES_MIN:
            try:
                header = parse_header(data, at, seed)
                check_frame(data, at, at + header.length, seed)
                yield Frame.parse(data[at : at + header.length], seed)
            except BadFrame:
                pass
        at = data.find(MAGIC, at + 1)
