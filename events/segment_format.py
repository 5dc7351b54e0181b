"""The two ends of a segment file, byte by byte; what stands between are frames (`frame`).

    <first seq, 20 digits>-<seed, 8 hex digits>.seg      header | frame | frame | … | index | trailer

All numbers are little endian. The header, 128 bytes:

         0      8  magic 'RECOLSEG'
         8      4  format version, 1
        12      4  seed: where this file's CRCs start; also in its name, so frames outlive a damaged header
        16     16  store id, the same in all segments of a store
        32      8  first seq
        40      8  created, µs since 1970
        48      8  where the frames of the segment before end; 0 in the first
        56     32  the chain value at the end of the segment before; zeros in the first
        88     36  zeros
       124      4  CRC-32 of bytes 0..123

A sealed segment ends with its index (`segment_index`) and the trailer, 160 bytes:

         0      8  magic 'RECOLEND'
         8      4  format version, 1
        12      4  zero
        16      8  where the frames end and the index begins
        24      8  number of events
        32      8  length of the index
        40     16  lowest event id
        56     16  highest event id
        72      8  recorded time of the last event
        80     32  chain value after the last event
       112     32  digest: SHA-256 of the segment's header, the chain value and the index
       144     12  zeros
       156      4  CRC-32 of bytes 0..155

The digest does not cover payloads, so erasing one breaks no seal; the chain covers them by their digests.
A segment without a trailer is the one that grows. Where magic and CRC hold but the version is higher, the
store was written by a newer program (`NewerFormat`): magic, version and CRC stay where they are for ever.
"""

from __future__ import annotations

import re
from hashlib import sha256
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from recollect.events.errors import NewerFormat
from recollect.events.segment_index import SegmentIndex

FORMAT = 1
_HEADER = Struct("<8sII16sQQQ32s36s")
_TRAILER = Struct("<8sIIQQQ16s16sQ32s32s12s")
_HEADER_MAGIC = b"RECOLSEG"
_TRAILER_MAGIC = b"RECOLEND"
HEADER_BYTES = _HEADER.size + 4
TRAILER_BYTES = _TRAILER.size + 4
_NAME = re.compile(r"(\d{20})-([0-9a-f]{8})\.seg")
assert HEADER_BYTES == 128
assert TRAILER_BYTES == 160


class SegmentName(NamedTuple):
    """Sorts in the order of the log."""

    first_seq: int
    seed: int

    def __str__(self) -> str:
        return f"{self.first_seq:020d}-{self.seed:08x}.seg"

    @classmethod
    def parse(cls, name: str) -> SegmentName | None:
        match = _NAME.fullmatch(name)
        return cls(int(match[1]), int(match[2], 16)) if match else None


class SegmentHeader(NamedTuple):
    seed: int
    store_id: bytes
    first_seq: int
    created_at: int
    before_end: int
    before_chain: bytes

    def encode(self) -> bytes:
        return _sealed(_HEADER.pack(_HEADER_MAGIC, FORMAT, *self, b""))

    @classmethod
    def parse(cls, data: bytes) -> SegmentHeader | None:
        """None if these bytes are no header."""
        if not _is_whole(data, HEADER_BYTES, _HEADER_MAGIC):
            return None
        _, _, *fields, _ = _HEADER.unpack(data[: _HEADER.size])
        return cls(*fields)


class Trailer(NamedTuple):
    frames_end: int
    events: int
    index_bytes: int
    id_min: bytes
    id_max: bytes
    last_at: int
    chain: bytes
    digest: bytes

    @classmethod
    def parse(cls, data: bytes) -> Trailer | None:
        """None if these bytes are no trailer."""
        if not _is_whole(data, TRAILER_BYTES, _TRAILER_MAGIC):
            return None
        _, _, _, *fields, _ = _TRAILER.unpack(data[: _TRAILER.size])
        return cls(*fields)


def encode_footer(header: SegmentHeader, index: SegmentIndex, frames_end: int, chain: bytes) -> bytes:
    """Index and trailer of a segment that ends here."""
    body = index.encode()
    id_min, id_max = index.id_range()
    digest = footer_digest(header, chain, body)
    last_at = index.times[-1] if len(index) else 0
    trailer = _TRAILER.pack(
        _TRAILER_MAGIC, FORMAT, 0, frames_end, len(index), len(body), id_min, id_max, last_at, chain, digest, b""
    )  # fmt: skip
    return body + _sealed(trailer)


def footer_digest(header: SegmentHeader, chain: bytes, index: bytes) -> bytes:
    return sha256(header.encode() + chain + index).digest()


def _sealed(fields: bytes) -> bytes:
    return fields + crc32(fields).to_bytes(4, "little")


def _is_whole(data: bytes, size: int, magic: bytes) -> bool:
    if (
        len(data) < size
        or data[:8] != magic
        or crc32(data[: size - 4]) != int.from_bytes(data[size - 4 : size], "little")
    ):
        return False
    version = int.from_bytes(data[8:12], "little")
    if version > FORMAT:
        raise NewerFormat(
            f"the log was written in format {version}, and this program reads format {FORMAT}; "
            f"open the store with a newer Recollect"
        )
    return True
