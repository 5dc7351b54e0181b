"""Overwriting payloads in place, so that a power cut leaves them untouched or gone, never in between.

The intent comes first: a file that names every overwrite with its bytes (zeros and the renewed CRC; see
`frame`), written aside, synced and renamed. Then the overwrites, synced. Then the intent is removed. The
next process to open the log finishes an intent that is still there before reading anything; a reader that meets a
half-overwritten frame finds it named in the intent and shows it as redacted.

    erase.intent:  CRC-32 of the rest (4 bytes, little endian), then msgpack of a list of overwrites

An intent that is empty, torn or garbled was not finished being written, so nothing was overwritten yet: it is removed,
and the `Erased` events say what is left to do. An overwrite is carried out only over the payload of its own event, as
the frame's header says. An intent names so many overwrites at most (`OVERWRITES_MAX`); what is longer than these can be is no intent.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from recollect.events.disk import Disk, read_whole, synced_directory, write_new
from recollect.events.frame import (
    HEADER_BYTES,
    MAGIC,
    META_BYTES_MAX,
    BadFrame,
    erased_tail,
    is_erased,
    parse_header,
)
from recollect.events.segment_format import SegmentName
from recollect.events.segments import Segments

INTENT = "erase.intent"
OVERWRITES_MAX = 2**18
_UNFINISHED = "erase.intent.new"
_OVERWRITE_BYTES_MAX = 80
_META_BYTES_USUAL = 256

OVERWRITTEN_IN_PLACE = (
    "older blocks of a file system that copies on write, or of an SSD, until they are used again",
    "backups and snapshots of the store's directory, for as long as they are kept",
)


class Overwrite(NamedTuple):
    """Zeros from `offset` on, then a CRC."""

    seq: int
    segment: str
    offset: int
    zeros: int
    crc: bytes


def plan(segments: Segments, seqs: Iterable[int]) -> list[Overwrite]:
    """What has to be overwritten; events that are erased already are left out."""
    overwrites = []
    for seq in sorted(set(seqs)):
        segment = segments.of(seq)
        header, _, body = segment.whole(seq)
        if is_erased(body, header.digest):
            continue
        tail = erased_tail(segment.frame(seq), header, segment.file.seed)
        offset = segment.extent(seq)[0] + header.body_offset
        overwrites.append(Overwrite(seq, segment.path.name, offset, len(tail) - 4, tail[-4:]))
    return overwrites


class Intent:
    """The intent file of a log directory."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path

    def pending(self) -> frozenset[int]:
        """The seqs that are being erased."""
        return frozenset(overwrite.seq for overwrite in self._read())

    def begin(self, overwrites: list[Overwrite]) -> None:
        """Write the intent; after this the erasure will happen."""
        body = msgspec.msgpack.encode(overwrites)
        with synced_directory(self._disk, self._path):
            if _UNFINISHED in self._disk.names(self._path):
                self._disk.remove(self._path / _UNFINISHED)
            write_new(self._disk, self._path / _UNFINISHED, crc32(body).to_bytes(4, "little") + body)
            self._disk.rename(self._path / _UNFINISHED, self._path / INTENT)

    def finish(self) -> None:
        """Carry out the intent, if there is one, and remove it. Calling this twice is safe."""
        names = self._disk.names(self._path)
        overwrites = self._read()
        for segment, group in groupby(overwrites, key=lambda overwrite: overwrite.segment):
            if segment not in names:  # damage, which is found and said elsewhere
                continue
            descriptor = self._disk.open(self._path / segment)
            try:
                for overwrite in [one for one in group if self._fits(descriptor, one)]:
                    self._disk.write(descriptor, bytes(overwrite.zeros) + overwrite.crc, overwrite.offset)
                self._disk.sync(descriptor)
            finally:
                self._disk.close(descriptor)
        if INTENT in names:  # also one that cannot be read: its `Erased` events say the same
            with synced_directory(self._disk, self._path):
                self._disk.remove(self._path / INTENT)

    def _read(self) -> list[Overwrite]:
        bytes_max = OVERWRITES_MAX * _OVERWRITE_BYTES_MAX
        data = read_whole(self._disk, self._path / INTENT, bytes_max=bytes_max)
        if data is None or len(data) <= 4 or crc32(data[4:]) != int.from_bytes(data[:4], "little"):
            return []
        try:
            return msgspec.msgpack.decode(data[4:], type=list[Overwrite])
        except msgspec.DecodeError:
            return []

    def _fits(self, descriptor: int, overwrite: Overwrite) -> bool:
        """Whether it covers the payload of its event to the frame's end, and nothing else."""
        name = SegmentName.parse(overwrite.segment)
        end = overwrite.offset + overwrite.zeros + len(overwrite.crc)
        if name is None or not 0 < overwrite.offset < end <= self._disk.size(descriptor):
            return False
        for reach in (_META_BYTES_USUAL, META_BYTES_MAX):
            begin = max(0, overwrite.offset - HEADER_BYTES - reach)
            before = self._disk.read(descriptor, overwrite.offset - begin, begin)
            at = before.rfind(MAGIC)
            while at >= 0:
                with suppress(BadFrame):
                    header = parse_header(before, at, name.seed)
                    place = (header.seq, begin + at + header.body_offset, begin + at + header.length)
                    if place == (overwrite.seq, overwrite.offset, end):
                        return True
                at = before.rfind(MAGIC, 0, at)
        return False
