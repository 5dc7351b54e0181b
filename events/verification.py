"""Walking a whole log and checking everything that can be checked.

Each finding says where (file, byte, seq) and what. Nothing is skipped: after a bad frame the walk goes on with the
next one in the index, and the chain continues from the value written there. The index and the trailer of a sealed
segment prove nothing of its events; that they are broken is told apart (`SegmentLog.broken_seals`).
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.events.errors import LogDamaged
from recollect.events.frame import (
    GENESIS,
    BadFrame,
    Header,
    check_body,
    check_chain,
    check_frame,
    intact,
    parse_header,
)
from recollect.events.log import Finding
from recollect.events.segment import Segment
from recollect.events.segments import Segments


def verify_segments(segments: Segments, *, bodies: bool = True) -> list[Finding]:
    """Header and frame CRCs, the chain and the links between segments; with `bodies` payload digests, too."""
    findings: list[Finding] = []
    before: Segment | None = None
    for segment in segments:
        findings += _check_link(segment, before)
        findings += _check_frames(segment, bodies)
        before = segment
    return findings


def _check_link(segment: Segment, before: Segment | None) -> Iterator[Finding]:
    end, chain = (0, GENESIS) if before is None else (before.end, before.chain)
    if (segment.header.before_end, segment.header.before_chain) != (end, chain):
        yield _finding(segment, 0, segment.first_seq, "the segment does not continue the one before")


def _check_frames(segment: Segment, bodies: bool) -> Iterator[Finding]:
    chain: bytes | None = segment.header.before_chain
    try:
        segment.index  # noqa: B018  (an index that cannot be read is rebuilt from the frames, or they are bad)
    except LogDamaged as damage:
        yield _finding(segment, damage.offset, damage.seq, damage.reason)
        return
    for seq, frame in segment.frames(segment.first_seq - 1, segment.last_seq):
        follows = None if chain is None else intact(frame, seq, segment.file.seed, chain)
        if follows is not None:
            chain = follows
            continue
        try:
            chain = checked(frame, seq, segment.file.seed, chain, bodies=bodies).chain
        except BadFrame as bad:
            yield _finding(segment, segment.extent(seq)[0], seq, str(bad))
            chain = None
    if chain is not None and chain != segment.chain:
        yield _finding(segment, segment.end, segment.last_seq, "the chain value at the end is another one")


def checked(frame: bytes, seq: int, seed: int, chain: bytes | None, *, bodies: bool = True) -> Header:
    """The header of a frame after checking it; `chain` is the chain value before it, if known."""
    header = parse_header(frame, 0, seed)
    if header.seq != seq or header.length != len(frame):
        raise BadFrame(f"another frame (@{header.seq}) stands in its place")
    check_frame(frame, 0, len(frame), seed)
    if bodies:
        check_body(frame, 0, header)
    if chain is not None:
        check_chain(chain, frame, 0, header)
    return header


def _finding(segment: Segment, offset: int, seq: int, problem: str) -> Finding:
    return Finding(path=str(segment.path), offset=offset, seq=seq, problem=problem)
