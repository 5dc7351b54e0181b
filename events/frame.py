"""The frame: how one event stands in a segment, byte by byte.

All numbers are little endian. A frame begins and ends on a multiple of 8 bytes.

    offset  bytes  field
         0      4  magic FE 'R' 'c' 'F'
         4      1  format version, 1
         5      1  kind: 1 is an event; 0 is never valid, so zeroed blocks are not frames
         6      2  flags: bit 0 set means a reader that does not know the kind may pass over the frame
         8      4  body length: salt and payload together, at most 16 + 64 MiB
        12      2  meta length
        14      2  schema version of the payload
        16      8  seq
        24      8  durable_seq: the highest seq known to be synced when this frame was written
        32      8  recorded time, µs since 1970, never decreasing
        40     16  event id
        56      4  position in its batch, from 0
        60      4  number of frames in its batch
        64     32  digest: SHA-256 of salt and payload
        96     32  chain: SHA-256 of the chain value before, of bytes 0..95 and of the meta bytes
       128      4  header CRC: CRC-32 of bytes 0..127
       132      4  zero
       136         meta: one byte n, the type name in n bytes, the actor in the rest (UTF-8)
                   body: 16 random bytes of salt, then the payload
                   zeros up to 4 bytes before a multiple of 8
      last      4  frame CRC: CRC-32 of everything before it

Both CRCs start from the segment's seed, a random number in its file name: bytes of another segment, or of a
file that was stored as a memory, are not frames here.

- The header has a CRC of its own, so that a flipped length is damage and not a short file.
- A batch is one call of `append`; it is in the log when all of its frames are.
- `durable_seq` is evidence for recovery: a bad frame at seq s that any later frame calls durable was
  acknowledged and is now damaged; without such evidence it is the tail of a write that never finished.
- The chain commits to the payload through the salted digest alone. `erase` overwrites salt and payload with
  zeros and renews the frame CRC: the chain still verifies, and without the salt nothing is left to guess
  the payload against. A zero body whose digest does not match is an erased event (`Redacted`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from struct import Struct, error
from typing import NamedTuple
from zlib import crc32

from recollect.events.envelope import Draft, Recorded, decode, encode, type_name
from recollect.events.errors import EventIdReused, InvalidInput, NewerFormat
from recollect.events.facts import AnyFact, Redacted, Unknown
from recollect.events.upcasts import VERSIONS

MAGIC = b"\xfeRcF"
FORMAT = 1
EVENT = 1
SKIPPABLE = 1
SALT_BYTES = 16
PAYLOAD_BYTES_MAX = 64 * 1024 * 1024
META_BYTES_MAX = 2**16 - 1
GENESIS = bytes(32)

_FIELDS = Struct("<4sBBHIHHQQQ16sII32s")
_HEADER = Struct("<4sBBHIHHQQQ16sII32s32sII")
_BRIEF = Struct("<4sBBHIHHQQQ16s")
_SEAL = Struct("<II")
_CRC = Struct("<I")
HEADER_BYTES = _HEADER.size
CHAIN_OFFSET = _FIELDS.size
FRAME_BYTES_MIN = HEADER_BYTES + 8
_ZERO_SALT = bytes(SALT_BYTES)
assert HEADER_BYTES == 136


class BadFrame(Exception):
    """These bytes are not the frame they should be; the message says why."""


class Entry(NamedTuple):
    """An event before it has a place in a log."""

    id: bytes
    type: str
    version: int
    actor: str
    payload: bytes


class Header(NamedTuple):
    """What stands before an event's body."""

    kind: int
    flags: int
    body_bytes: int
    meta_bytes: int
    version: int
    seq: int
    durable_seq: int
    at: int
    id: bytes
    position: int
    batch: int
    digest: bytes
    chain: bytes

    @property
    def length(self) -> int:
        return frame_bytes(self.meta_bytes, self.body_bytes)

    @property
    def body_offset(self) -> int:
        return HEADER_BYTES + self.meta_bytes


class Place(NamedTuple):
    """One event: where its frame begins, when it was recorded, its id, and what it is."""

    offset: int
    at: int
    id: bytes
    type: str
    version: int


class Batch(NamedTuple):
    """The frames of one append: their bytes, their events, and the chain value after the last."""

    blob: bytes
    places: list[Place]
    chain: bytes


class Frame(NamedTuple):
    """A frame without its CRCs, which belong to the segment it stands in: header, meta and body."""

    header: Header
    meta: bytes
    body: bytes

    @classmethod
    def build(
        cls, *, kind: int, flags: int, version: int, seq: int, durable_seq: int, at: int, id_: bytes,
        position: int, batch: int, digest: bytes | None, meta: bytes, body: bytes, chain: bytes,
    ) -> Frame:  # fmt: skip
        """The frame with these fields behind `chain`; `digest` is given only for an erased body."""
        if len(id_) != 16 or len(body) < SALT_BYTES:
            raise ValueError("an event has an id of 16 bytes and a salt of 16 bytes")
        header = Header(
            kind, flags, len(body), len(meta), version, seq, durable_seq, at, id_, position, batch,
            sha256(body).digest() if digest is None else digest, b"",
        )  # fmt: skip
        try:
            fields = _FIELDS.pack(MAGIC, FORMAT, *header[:-1])
        except error as reason:
            raise ValueError(f"a number does not fit its field: {reason}") from None
        return cls(header._replace(chain=sha256(chain + fields + meta).digest()), meta, body)

    @classmethod
    def parse(cls, data: bytes, seed: int) -> Frame:
        header = parse_header(data, 0, seed)
        return cls(header, data[HEADER_BYTES : header.body_offset], body_of(data, 0, header))

    def encode(self, seed: int) -> bytes:
        """Its bytes in a segment with this seed."""
        fields = _FIELDS.pack(MAGIC, FORMAT, *self.header[:-1]) + self.header.chain
        pad = bytes(-(HEADER_BYTES + len(self.meta) + len(self.body) + 4) % 8)
        frame = b"".join((fields, _SEAL.pack(crc32(fields, seed), 0), self.meta, self.body, pad))
        return frame + _CRC.pack(crc32(frame, seed))

    def recorded(self) -> Recorded:
        """The event in it, erased if the body is all zeros."""
        header, payload = self.header, self.body[SALT_BYTES:]
        type_, actor = decode_meta(self.meta)
        fact: AnyFact | Unknown | Redacted
        if not any(self.body):
            payload, fact = b"", Redacted(type=type_)
        elif header.kind == EVENT:
            fact = decode(type_, header.version, payload)
        else:
            fact = Unknown(type=type_, version=header.version)
        return Recorded(header.seq, header.at, header.id, actor, type_, header.version, payload, fact)


def copy_batch(frames: Sequence[Frame], *, seed: int, offset: int) -> Batch:
    """Frames as they are, in the form in which a log writes new ones at this offset."""
    places = []
    for header, meta, _ in frames:
        places.append(Place(offset, header.at, header.id, decode_meta(meta)[0], header.version))
        offset += header.length
    return Batch(b"".join(frame.encode(seed) for frame in frames), places, frames[-1].header.chain)


def frame_bytes(meta_bytes: int, body_bytes: int) -> int:
    return (HEADER_BYTES + meta_bytes + body_bytes + 4 + 7) & ~7


@lru_cache(maxsize=4096)
def encode_meta(type_: str, actor: str) -> bytes:
    name = type_.encode()
    return bytes((len(name),)) + name + actor.encode()


@lru_cache(maxsize=4096)
def decode_meta(meta: bytes) -> tuple[str, str]:
    """The type name and the actor."""
    stop = 1 + meta[0]
    return meta[1:stop].decode(), meta[stop:].decode()


def encode_batch(
    entries: Sequence[Entry],
    *,
    first_seq: int,
    durable_seq: int,
    at: int,
    chain: bytes,
    seed: int,
    offset: int,
) -> Batch:
    """One frame per entry, chained on `chain`, to be written at this offset."""
    batch = len(entries)
    salts = os.urandom(SALT_BYTES * batch)
    frames: list[bytes] = []
    places: list[Place] = []
    for position, (id_, type_, version, actor, payload) in enumerate(entries):
        body = salts[position * SALT_BYTES : (position + 1) * SALT_BYTES] + payload
        meta = encode_meta(type_, actor)
        fields = _FIELDS.pack(
            MAGIC, FORMAT, EVENT, 0, len(body), len(meta), version, first_seq + position, durable_seq,
            at, id_, position, batch, sha256(body).digest(),
        )  # fmt: skip
        chain = sha256(chain + fields + meta).digest()
        fields += chain
        pad = bytes(-(HEADER_BYTES + len(meta) + len(body) + 4) % 8)
        frame = b"".join((fields, _SEAL.pack(crc32(fields, seed), 0), meta, body, pad))
        frames += (frame, _CRC.pack(crc32(frame, seed)))
        places.append(Place(offset, at, id_, type_, version))
        offset += len(frame) + 4
    return Batch(b"".join(frames), places, chain)


def parse_header(data: bytes, start: int, seed: int) -> Header:
    """The header at `start`, checked by its own CRC."""
    if len(data) - start < HEADER_BYTES:
        raise BadFrame("its header is cut short")
    magic, format_, *fields, crc, zero = _HEADER.unpack_from(data, start)
    if magic != MAGIC:
        raise BadFrame("there is no frame where one should begin")
    if crc32(data[start : start + 128], seed) != crc or zero != 0:
        raise BadFrame("the checksum of its header does not match")
    header = Header(*fields)
    _refuse_newer(format_, header.kind, header.flags)
    if header.kind == 0 or not SALT_BYTES <= header.body_bytes <= SALT_BYTES + PAYLOAD_BYTES_MAX:
        raise BadFrame("its header makes no sense")
    return header


def _refuse_newer(format_: int, kind: int, flags: int) -> None:
    if format_ > FORMAT or (kind > EVENT and not flags & SKIPPABLE):
        raise NewerFormat(
            f"the log holds a frame of format {format_} and kind {kind}, and this program reads format {FORMAT} "
            f"and kind {EVENT}; open the store with a newer Recollect"
        )


def check_frame(data: bytes, start: int, end: int, seed: int) -> None:
    """The CRC over the whole frame."""
    if not start + FRAME_BYTES_MIN <= end <= len(data):
        raise BadFrame("it is cut short")
    if crc32(data[start : end - 4], seed) != _CRC.unpack_from(data, end - 4)[0]:
        raise BadFrame("its checksum does not match")


def check_chain(chain: bytes, data: bytes, start: int, header: Header) -> None:
    """The chain value of a frame, given the one before."""
    meta = data[start + HEADER_BYTES : start + header.body_offset]
    if sha256(chain + data[start : start + 96] + meta).digest() != header.chain:
        raise BadFrame("its chain value does not follow from the one before")


def check_body(data: bytes, start: int, header: Header) -> None:
    """The digest over salt and payload; an erased body has another one."""
    body = body_of(data, start, header)
    if sha256(body).digest() != header.digest and not is_erased(body, header.digest):
        raise BadFrame("its payload is not the one that was recorded")


def intact(frame: bytes, seq: int, seed: int, chain: bytes) -> bytes | None:
    """The chain value of an event's frame in which everything is as it was written, given the value before.

    None means that something differs, or that the frame is of another kind, and the caller must look closer. This is
    the quick path for intact frames, which nearly all frames are.
    """
    if len(frame) < FRAME_BYTES_MIN:
        return None
    fields = _HEADER.unpack_from(frame)
    magic, format_, kind, _, body_bytes, meta_bytes, _, found = fields[:8]
    digest, stored, crc, zero = fields[13:]
    begin = HEADER_BYTES + meta_bytes
    header_crc = crc32(frame[:128], seed)
    whole = (
        (magic, format_, kind, found, zero, crc) == (MAGIC, FORMAT, EVENT, seq, 0, header_crc)
        and body_bytes >= SALT_BYTES
        and len(frame) == frame_bytes(meta_bytes, body_bytes)
        and crc32(frame[128:-4], header_crc) == _CRC.unpack_from(frame, len(frame) - 4)[0]
        and sha256(frame[begin : begin + body_bytes]).digest() == digest
        and sha256(chain + frame[:96] + frame[HEADER_BYTES:begin]).digest() == stored
    )
    return stored if whole else None


def body_of(data: bytes, start: int, header: Header) -> bytes:
    begin = start + header.body_offset
    return data[begin : begin + header.body_bytes]


def is_erased(body: bytes, digest: bytes) -> bool:
    """Whether a body was overwritten on purpose."""
    return not any(body) and sha256(body).digest() != digest


def erased_tail(frame: bytes, header: Header, seed: int) -> bytes:
    """What `erase` writes over a frame, starting at its body: zeros and the renewed CRC."""
    zeros = bytes(len(frame) - 4 - header.body_offset)
    return zeros + _CRC.pack(crc32(frame[: header.body_offset] + zeros, seed))


def decode_frame(data: bytes, start: int, end: int, seq: int, seed: int) -> Recorded:
    """The event in a frame whose extent and seq are known from an index."""
    if not start + FRAME_BYTES_MIN <= end <= len(data):
        raise BadFrame("it is cut short")
    if crc32(data[start : end - 4], seed) != _CRC.unpack_from(data, end - 4)[0]:
        raise BadFrame("its checksum does not match")
    magic, format_, kind, flags, body_bytes, meta_bytes, version, found, _, at, id_ = _BRIEF.unpack_from(
        data, start
    )
    if magic != MAGIC or found != seq:
        raise BadFrame(f"another frame (@{found}) stands in its place")
    if kind != EVENT or format_ != FORMAT:
        _refuse_newer(format_, kind, flags)
    body = start + HEADER_BYTES + meta_bytes
    type_, actor = decode_meta(data[start + HEADER_BYTES : body])
    salted = body + SALT_BYTES
    payload = data[salted : body + body_bytes]
    fact: AnyFact | Unknown | Redacted
    if data[body:salted] == _ZERO_SALT and is_erased(
        data[body : body + body_bytes], data[start + 64 : start + 96]
    ):
        return Recorded(seq, at, id_, actor, type_, version, b"", Redacted(type=type_))
    fact = decode(type_, version, payload) if kind == EVENT else Unknown(type=type_, version=version)
    return Recorded(seq, at, id_, actor, type_, version, payload, fact)


# What happens to a call of `append` before anything is written: the same for every log.
#
# `prepare` turns drafts into entries and refuses what cannot be stored. An event whose id the log holds already is
# a retry, or another event under a used id (`refuse_other_events`).

EVENT_ID_BYTES = 16


def prepare(drafts: Sequence[Draft]) -> list[Entry]:
    """The entries of one batch, checked; nothing is written if any is refused."""
    entries = [_entry(draft) for draft in drafts]
    ids = {entry.id for entry in entries}
    if len(ids) != len(entries):
        twice = next(entry.id for n, entry in enumerate(entries) if entry.id in {e.id for e in entries[:n]})
        raise InvalidInput(
            f"event id {twice.hex()} stands twice in one batch; give each event an id of its own"
        )
    return entries


def _entry(draft: Draft) -> Entry:
    if len(draft.id) != EVENT_ID_BYTES:
        raise InvalidInput(
            f"event id {draft.id!r} has {len(draft.id)} bytes; an event id has {EVENT_ID_BYTES}"
        )
    type_ = type_name(type(draft.fact))
    payload = encode(draft.fact)
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise InvalidInput(
            f"{type_} takes {len(payload):,} bytes and an event may have {PAYLOAD_BYTES_MAX:,}; split it"
        )
    if len(encode_meta(type_, draft.actor)) > META_BYTES_MAX:
        raise InvalidInput(f"the actor's name has {len(draft.actor):,} characters; use a shorter one")
    return Entry(draft.id, type_, VERSIONS[type_], draft.actor, payload)


def refuse_other_events(
    entries: Sequence[Entry], known: dict[bytes, int], get: Callable[[int], Recorded]
) -> None:
    """Raise unless entries whose ids are known repeat the events at those seqs."""
    for entry in entries if known else ():
        if entry.id in known and not _same_event(entry, get(known[entry.id])):
            raise EventIdReused(entry.id.hex(), seq=known[entry.id])


def _same_event(entry: Entry, stored: Recorded) -> bool:
    """Whether this is a retry: the same type and payload, or what the same fact looked like in an older version.

    Of an erased event only the type is left to compare; writing it again would undo the erasure.
    """
    if entry.type != stored.type:
        return False
    if isinstance(stored.fact, Redacted) or entry.payload == stored.payload:
        return True
    return stored.version < entry.version and decode(entry.type, entry.version, entry.payload) == stored.fact
