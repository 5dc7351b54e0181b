"""The quick look at a frame says what the thorough one says."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.events.errors import NewerFormat
from recollect.events.frame import GENESIS, BadFrame, Entry, encode_batch, erased_tail, intact, parse_header
from recollect.events.verification import checked

SEED = 77
ENTRIES = [
    Entry(bytes([n] * 16), "memory.ingested", 1, "tester", b"payload %d " % n * n) for n in range(1, 5)
]


def _frames() -> list[bytes]:
    batch = encode_batch(ENTRIES, first_seq=5, durable_seq=4, at=1_000, chain=GENESIS, seed=SEED, offset=0)
    starts = [place.offset for place in batch.places]
    ends = [*starts[1:], len(batch.blob)]
    return [batch.blob[start:end] for start, end in zip(starts, ends, strict=True)]


FRAMES = _frames()


def renewed(frame: bytes) -> bytes:
    """The frame with checksums that fit, as an intruder would write it."""
    header = frame[:128] + crc32(frame[:128], SEED).to_bytes(4, "little") + frame[132:-4]
    return header + crc32(header, SEED).to_bytes(4, "little")


def thorough(frame: bytes, seq: int, chain: bytes) -> bytes | None:
    try:
        return checked(frame, seq, SEED, chain).chain
    except (BadFrame, NewerFormat):
        return None


def test_frames_as_they_were_written_are_passed_on_from_chain_to_chain():
    chain = GENESIS
    for seq, frame in enumerate(FRAMES, start=5):
        follows = intact(frame, seq, SEED, chain)
        assert follows == checked(frame, seq, SEED, chain).chain
        assert follows is not None
        chain = follows


@given(st.integers(0, 8 * len(FRAMES[0]) - 1), st.booleans())
def test_whatever_bit_is_flipped_and_whether_or_not_checksums_are_renewed_it_is_found(bit, renew):
    frame = bytearray(FRAMES[0])
    frame[bit // 8] ^= 1 << bit % 8
    harmed = renewed(bytes(frame)) if renew else bytes(frame)
    quick = intact(harmed, 5, SEED, GENESIS)
    assert quick == thorough(harmed, 5, GENESIS)
    assert quick is None or harmed == FRAMES[0] or _only_padding(harmed)


def _only_padding(frame: bytes) -> bool:
    """Zeros that fill a frame up are covered by its checksum alone."""
    header = parse_header(frame, 0, SEED)
    end = header.body_offset + header.body_bytes
    return frame[:end] == FRAMES[0][:end]


@pytest.mark.parametrize("place", [0, 3, 140, -1], ids=["magic", "magic's end", "meta", "checksum"])
def test_one_byte_is_enough(place):
    frame = bytearray(FRAMES[0])
    frame[place] ^= 1
    assert intact(bytes(frame), 5, SEED, GENESIS) is None


def test_another_body_under_renewed_checksums_is_found():
    frame = FRAMES[0]
    other = renewed(frame[:-20] + bytes([frame[-20] ^ 1]) + frame[-19:])
    parse_header(other, 0, SEED)
    assert intact(other, 5, SEED, GENESIS) is None
    with pytest.raises(BadFrame, match="payload"):
        checked(other, 5, SEED, GENESIS)


def test_another_place_another_past_and_a_short_read_are_found():
    first, second = FRAMES[:2]
    assert intact(first, 6, SEED, GENESIS) is None
    assert intact(second, 6, SEED, GENESIS) is None
    assert intact(first, 5, SEED + 1, GENESIS) is None
    assert all(intact(first[:length], 5, SEED, GENESIS) is None for length in range(len(first)))
    assert intact(first + bytes(8), 5, SEED, GENESIS) is None


def test_an_erased_frame_is_left_to_the_thorough_look():
    frame = FRAMES[0]
    header = parse_header(frame, 0, SEED)
    erased = frame[: header.body_offset] + erased_tail(frame, header, SEED)
    assert intact(erased, 5, SEED, GENESIS) is None
    assert checked(erased, 5, SEED, GENESIS).chain == header.chain
