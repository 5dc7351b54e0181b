"""The frame is what its description says, byte by byte."""

from __future__ import annotations

from hashlib import sha256
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.events.envelope import encode
from recollect.events.errors import NewerFormat
from recollect.events.facts import Forgotten, Redacted
from recollect.events.frame import (
    GENESIS,
    BadFrame,
    Entry,
    check_frame,
    decode_frame,
    encode_batch,
    erased_tail,
    parse_header,
)

SEED = 0xDEADBEEF
PAYLOAD = encode(Forgotten(id="m1", reason="stale"))
ENTRY = Entry(bytes(range(16)), "memory.forgotten", 1, "tester", PAYLOAD)


def one_frame(entry: Entry = ENTRY, *, chain: bytes = GENESIS) -> bytes:
    return encode_batch([entry], first_seq=7, durable_seq=5, at=1234, chain=chain, seed=SEED, offset=0).blob


def test_every_field_stands_where_the_description_says() -> None:
    frame = one_frame()
    meta = bytes([len("memory.forgotten")]) + b"memory.forgotten" + b"tester"
    body = frame[136 + len(meta) : 136 + len(meta) + 16 + len(PAYLOAD)]
    assert frame[0:4] == b"\xfeRcF"
    assert frame[4:8] == bytes([1, 1, 0, 0])
    assert int.from_bytes(frame[8:12], "little") == 16 + len(PAYLOAD)
    assert int.from_bytes(frame[12:14], "little") == len(meta)
    assert int.from_bytes(frame[14:16], "little") == 1
    assert [int.from_bytes(frame[at : at + 8], "little") for at in (16, 24, 32)] == [7, 5, 1234]
    assert frame[40:56] == bytes(range(16))
    assert [int.from_bytes(frame[at : at + 4], "little") for at in (56, 60)] == [0, 1]
    assert frame[64:96] == sha256(body).digest()
    assert frame[96:128] == sha256(GENESIS + frame[:96] + meta).digest()
    assert int.from_bytes(frame[128:132], "little") == crc32(frame[:128], SEED)
    assert frame[136 : 136 + len(meta)] == meta
    assert body[16:] == PAYLOAD
    assert int.from_bytes(frame[-4:], "little") == crc32(frame[:-4], SEED)
    assert len(frame) % 8 == 0


def test_two_frames_of_one_payload_have_different_digests() -> None:
    assert one_frame()[64:96] != one_frame()[64:96]


def test_a_batch_numbers_and_chains_its_frames() -> None:
    entries = [ENTRY._replace(id=bytes([n] * 16)) for n in range(3)]
    batch = encode_batch(entries, first_seq=10, durable_seq=0, at=1, chain=GENESIS, seed=SEED, offset=0)
    headers = [parse_header(batch.blob, place.offset, SEED) for place in batch.places]
    assert [(header.seq, header.position, header.batch) for header in headers] == [
        (10, 0, 3),
        (11, 1, 3),
        (12, 2, 3),
    ]
    assert headers[-1].chain == batch.chain
    assert sum(header.length for header in headers) == len(batch.blob)


@given(actor=st.text(max_size=40), reason=st.text(max_size=300), id_=st.binary(min_size=16, max_size=16))
def test_what_goes_in_comes_out(actor: str, reason: str, id_: bytes) -> None:
    fact = Forgotten(id="m", reason=reason)
    frame = one_frame(Entry(id_, "memory.forgotten", 1, actor, encode(fact)))
    recorded = decode_frame(frame, 0, len(frame), 7, SEED)
    assert (recorded.fact, recorded.actor, recorded.id, recorded.at) == (fact, actor, id_, 1234)


def test_every_flipped_bit_is_noticed() -> None:
    frame = one_frame()
    for at in range(len(frame) * 8):
        hurt = bytearray(frame)
        hurt[at // 8] ^= 1 << at % 8
        with pytest.raises(BadFrame):
            decode_frame(bytes(hurt), 0, len(hurt), 7, SEED)
        if at < 136 * 8:
            with pytest.raises(BadFrame):
                parse_header(bytes(hurt), 0, SEED)


def test_zeros_and_frames_of_another_segment_are_no_frames() -> None:
    frame = one_frame()
    with pytest.raises(BadFrame, match="no frame"):
        parse_header(bytes(len(frame)), 0, SEED)
    with pytest.raises(BadFrame, match="header"):
        parse_header(frame, 0, SEED + 1)
    with pytest.raises(BadFrame, match="cut short"):
        check_frame(frame, 0, len(frame) + 8, SEED)
    with pytest.raises(BadFrame, match="another frame"):
        decode_frame(frame, 0, len(frame), 8, SEED)


def resealed(frame: bytes, at: int, value: int) -> bytes:
    """The frame with one header byte changed and its checksums renewed, as a newer program might write it."""
    head = bytearray(frame[:128])
    head[at] = value
    body = bytes(head) + crc32(head, SEED).to_bytes(4, "little") + frame[132:-4]
    return body + crc32(body, SEED).to_bytes(4, "little")


def test_a_newer_format_or_kind_is_refused_unless_it_may_be_skipped() -> None:
    frame = one_frame()
    for newer in (resealed(frame, 4, 2), resealed(frame, 5, 9)):
        with pytest.raises(NewerFormat):
            decode_frame(newer, 0, len(newer), 7, SEED)
        with pytest.raises(NewerFormat):
            parse_header(newer, 0, SEED)
    skippable = resealed(resealed(frame, 5, 9), 6, 1)
    assert type(decode_frame(skippable, 0, len(skippable), 7, SEED).fact).__name__ == "Unknown"


def test_an_erased_frame_keeps_its_header_and_loses_its_body() -> None:
    frame = one_frame()
    header = parse_header(frame, 0, SEED)
    erased = frame[: header.body_offset] + erased_tail(frame, header, SEED)
    assert len(erased) == len(frame)
    assert parse_header(erased, 0, SEED) == header
    assert not any(erased[header.body_offset : -4])
    assert decode_frame(erased, 0, len(erased), 7, SEED).fact == Redacted(type="memory.forgotten")
