"""A pack: one append, many events, at one position. All numbers are little endian.

    offset  bytes  field
         0      4  magic FE 'R' 'c' 'P'
         4      1  format version, 1
         5      1  kind: 1 holds its frames, 2 names a blob that holds them (they are more than the engine takes)
         6      2  zero
         8      4  number of events
        12     16  id: random; names the box with the keys of its events
        28     16  holder: the only writer that may write the next pack; zeros mean any writer
        44      8  seq of its first event
        52     32  chain value before its first event
        84     32  chain value after its last event
       116         the frames (`events.frame`, CRCs with seed 0), or the SHA-256 of them
      last      4  CRC-32 of everything before it

A pack holds whole batches. Its frames have the same headers as in any log, so the chain is the same wherever the
events are stored. Their bodies are encrypted (`keys`): of equal length, and unreadable without the key.

A pack without events names the only writer that may write next, or allows every writer again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from struct import Struct, error
from typing import NamedTuple
from zlib import crc32

from recollect.events.errors import NewerFormat
from recollect.events.frame import (
    EVENT,
    BadFrame,
    Entry,
    Frame,
    check_chain,
    check_frame,
    encode_meta,
    parse_header,
)

MAGIC = b"\xfeRcP"
FORMAT = 1
HOLDS = 1
NAMES = 2
NO_HOLDER = bytes(16)
_HEAD = Struct("<4sBBHI16s16sQ32s32s")
_SEED = 0
assert _HEAD.size == 116


class BadPack(Exception):
    """These bytes are not the pack they should be; the message says why."""


class Pack(NamedTuple):
    """One append: frames with encrypted bodies, between two values of the chain."""

    id: bytes
    holder: bytes
    first_seq: int
    before: bytes
    after: bytes
    frames: tuple[Frame, ...]

    @property
    def last_seq(self) -> int:
        """The seq of the last event up to and including this pack."""
        return self.first_seq + len(self.frames) - 1

    @property
    def box(self) -> str:
        return self.id.hex()


def packed(
    frames: Sequence[Frame], id_: bytes, *, first_seq: int, before: bytes, holder: bytes = NO_HOLDER
) -> Pack:
    after = frames[-1].header.chain if frames else before
    return Pack(id_, holder, first_seq, before, after, tuple(frames))


def chained(
    entries: Sequence[Entry], bodies: Sequence[bytes], *, first_seq: int, at: int, chain: bytes
) -> list[Frame]:
    """One batch with these bodies after `chain`; everything before it is durable, or it could not be written."""
    frames = []
    for place, (entry, body) in enumerate(zip(entries, bodies, strict=True)):
        frame = Frame.build(
            kind=EVENT, flags=0, version=entry.version, seq=first_seq + place, durable_seq=first_seq - 1, at=at,
            id_=entry.id, position=place, batch=len(entries), digest=None,
            meta=encode_meta(entry.type, entry.actor), body=body, chain=chain,
        )  # fmt: skip
        chain = frame.header.chain
        frames.append(frame)
    return frames


def encode(pack: Pack, *, bytes_max: int, put_blob: Callable[[bytes], str]) -> bytes:
    """The bytes of a pack; frames larger than `bytes_max` are stored as a blob first, and the pack names the blob."""
    body, kind = b"".join(frame.encode(_SEED) for frame in pack.frames), HOLDS
    if _HEAD.size + len(body) + 4 > bytes_max:
        body, kind = bytes.fromhex(put_blob(body)), NAMES
    head = _HEAD.pack(
        MAGIC,
        FORMAT,
        kind,
        0,
        len(pack.frames),
        pack.id,
        pack.holder,
        pack.first_seq,
        pack.before,
        pack.after,
    )
    return head + body + crc32(head + body).to_bytes(4, "little")


def decode(data: bytes, get_blob: Callable[[str], bytes | None]) -> Pack:
    """The pack in these bytes, with everything checked that can be without keys; `BadPack` if anything is wrong."""
    try:
        magic, format_, kind, _, events, id_, holder, first, before, after = _HEAD.unpack_from(data)
    except error:
        raise BadPack("it is cut short") from None
    if magic != MAGIC or crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise BadPack("its checksum does not match" if magic == MAGIC else "it is not a pack")
    if format_ > FORMAT or kind > NAMES:
        raise NewerFormat(
            f"the log holds a pack of format {format_} and kind {kind}, and this program reads format {FORMAT}; "
            f"open the store with a newer Recollect"
        )
    body = data[_HEAD.size : -4]
    if kind == NAMES:
        digest = body.hex()
        body = _blob(digest, get_blob(digest))
    frames = _frames(body, first, before)
    if len(frames) != events or (frames[-1].header.chain if frames else before) != after:
        raise BadPack(f"it holds {len(frames)} events and promises {events}")
    return Pack(id_, holder, first, before, after, frames)


def _blob(digest: str, blob: bytes | None) -> bytes:
    if blob is None:
        raise BadPack(f"the blob {digest} with its events is missing")
    if sha256(blob).hexdigest() != digest:
        raise BadPack(f"the blob {digest} with its events holds other bytes")
    return blob


def _frames(body: bytes, seq: int, chain: bytes) -> tuple[Frame, ...]:
    """Whole batches with these positions, each event chained on the one before."""
    frames: list[Frame] = []
    start = 0
    try:
        while start < len(body):
            header = parse_header(body, start, _SEED)
            end = start + header.length
            check_frame(body, start, end, _SEED)
            if header.seq != seq:
                raise BadPack(f"@{seq} does not follow from the event before")
            check_chain(chain, body, start, header)
            frames.append(Frame.parse(body[start:end], _SEED))
            start, seq, chain = end, seq + 1, header.chain
    except BadFrame as bad:
        raise BadPack(f"@{seq} cannot be read: {bad}") from None
    if frames and frames[-1].header.position != frames[-1].header.batch - 1:
        raise BadPack("its last batch is not whole")
    return tuple(frames)
