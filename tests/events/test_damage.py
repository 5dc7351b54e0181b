"""Files that were deleted, swapped or copied over each other: always reported, never taken for the end."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest
from log_samples import StepClock, all_numbers, notes, numbers
from simulated_disk import SimulatedDisk

from recollect.events.errors import LogDamaged, NewerFormat
from recollect.events.frame import GENESIS, encode_batch, prepare
from recollect.events.segment_format import HEADER_BYTES, SegmentHeader
from recollect.events.segment_log import SegmentLog

PATH = Path("/log")
Files = dict[Path, bytes]


def open_log(files: Files, *, read_only: bool = False) -> SegmentLog:
    disk = SimulatedDisk.holding(files)
    return SegmentLog.open(PATH, disk=disk, clock=StepClock(), segment_bytes=900, read_only=read_only)


@pytest.fixture
def files() -> Files:
    """A closed log of five segments, each with one batch of four events."""
    disk = SimulatedDisk()
    with SegmentLog.open(PATH, disk=disk, clock=StepClock(), segment_bytes=900) as log:
        for batch in range(5):
            log.append(notes(batch * 4, 4))
        assert log.status().segments == 5
    return disk.files()


def segments(files: Files) -> list[Path]:
    return sorted(path for path in files if path.suffix == ".seg")


def assert_damaged(files: Files, *, seq: int) -> None:
    """The log reads up to the damage, names it, and refuses to write; no file of it changes."""
    log = open_log(files)
    assert numbers(list(log.read())) == list(range(seq - 1))
    with pytest.raises(LogDamaged) as caught:
        log.append(notes(90, 1))
    assert caught.value.seq == seq
    assert f"@{seq}" in str(log.status().damage)
    assert log.verify_chain() != []
    log.close()


@pytest.mark.parametrize("missing", range(5))
def test_a_deleted_segment_is_reported(files: Files, missing: int) -> None:
    assert_damaged(
        {path: files[path] for path in files if path != segments(files)[missing]}, seq=missing * 4 + 1
    )


def test_a_log_whose_segments_are_all_gone_is_damaged_and_not_new(files: Files) -> None:
    assert_damaged({path: files[path] for path in files if path.suffix != ".seg"}, seq=1)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 3), (2, 4)])
def test_segments_with_swapped_contents_are_reported(files: Files, a: int, b: int) -> None:
    first, second = segments(files)[a], segments(files)[b]
    assert_damaged({**files, first: files[second], second: files[first]}, seq=a * 4 + 1)


def test_a_second_copy_of_a_segment_is_reported(files: Files) -> None:
    original = segments(files)[1]
    copy = original.with_name(original.name[:21] + "ffffffff.seg")
    assert_damaged({**files, copy: files[original]}, seq=9)


def test_a_segment_of_another_log_is_reported(files: Files) -> None:
    disk = SimulatedDisk()
    with SegmentLog.open(PATH, disk=disk, clock=StepClock(), segment_bytes=900) as log:
        for batch in range(5):
            log.append(notes(batch * 4, 4))
    theirs = disk.files()
    mixed = {path: data for path, data in files.items() if path != segments(files)[2]}
    mixed[segments(theirs)[2]] = theirs[segments(theirs)[2]]
    assert_damaged(mixed, seq=9)


@pytest.mark.parametrize("segment", [0, 2, 4])
@pytest.mark.parametrize("block_bytes", [64, 512])
def test_swapped_doubled_and_zeroed_blocks_are_reported(files: Files, segment: int, block_bytes: int) -> None:
    path = segments(files)[segment]
    data = files[path]
    frames_end = HEADER_BYTES + 2 * block_bytes
    one, two = slice(HEADER_BYTES, HEADER_BYTES + block_bytes), slice(HEADER_BYTES + block_bytes, frames_end)
    swapped = data[:HEADER_BYTES] + data[two] + data[one] + data[frames_end:]
    doubled = data[:HEADER_BYTES] + data[one] + data[one] + data[frames_end:]
    zeroed = data[:HEADER_BYTES] + bytes(block_bytes) + data[HEADER_BYTES + block_bytes :]
    for hurt in (swapped, doubled, zeroed):
        log = open_log({**files, path: hurt})
        try:
            found = numbers(list(log.read()))
            damage = log._writer.damage
        except LogDamaged as error:
            damage = error
            found = numbers(list(log.read(0, error.seq - 1)))
        assert damage is not None
        assert found == list(range(damage.seq - 1))
        assert segment * 4 < damage.seq <= segment * 4 + 4
        assert any(finding.seq == damage.seq for finding in log.verify_chain())


def test_a_whole_frame_with_another_history_is_reported(files: Files) -> None:
    """Every checksum of the forged frame holds; only the chain tells."""
    path = segments(files)[-1]
    growing = {path: data for path, data in files.items() if path.name != "active.index"}
    with open_log(files) as log:
        segment = log._segments.of(18)
        (begin, end), seed = segment.extent(18), segment.header.seed
        entries = [entry._replace(payload=entry.payload[::-1]) for entry in prepare(notes(17, 1))]
        header = segment.header_of(18)
    forged = encode_batch(
        entries, first_seq=18, durable_seq=header.durable_seq, at=header.at, chain=GENESIS, seed=seed, offset=0
    ).blob  # fmt: skip
    assert len(forged) == end - begin
    head = bytearray(forged[:128])
    head[56:64] = files[path][begin + 56 : begin + 64]
    body = bytes(head) + crc32(head, seed).to_bytes(4, "little") + forged[132:-4]
    hurt = body + crc32(body, seed).to_bytes(4, "little")
    assert_damaged({**growing, path: files[path][:begin] + hurt + files[path][end:]}, seq=18)


def test_a_broken_seal_costs_nothing_but_is_found(files: Files) -> None:
    path = segments(files)[1]
    hurt = files[path][:-300] + bytes(300)
    with open_log({**files, path: hurt}) as log:
        assert all_numbers(log) == list(range(20))
        assert (log.broken_seals(), log.verify_chain()) == ([path], [])
        assert log.append(notes(0, 20)) == list(range(1, 21))


def test_a_truncated_segment_in_the_middle_is_reported(files: Files) -> None:
    path = segments(files)[1]
    assert_damaged({**files, path: files[path][: HEADER_BYTES + 300]}, seq=6)


def test_losing_the_head_file_the_lock_and_the_index_is_harmless(files: Files) -> None:
    with open_log({path: files[path] for path in segments(files)}) as log:
        assert all_numbers(log) == list(range(20))
        assert log.append(notes(20, 1)) == [21]


def test_a_cached_index_of_another_time_is_not_believed(files: Files) -> None:
    log = open_log(files)
    log.append(notes(20, 1))
    log.append(notes(21, 1))
    stale = log._disk.files()  # type: ignore[attr-defined]
    log.close()
    newer = log._disk.files()  # type: ignore[attr-defined]
    for cache in (newer[PATH / "active.index"], files.get(PATH / "active.index", b""), b"", b"junk" * 99):
        with open_log({**stale, PATH / "active.index": cache}) as opened:
            assert all_numbers(opened) == list(range(22))
            assert opened.verify_chain() == []


def test_a_log_in_a_newer_format_is_refused_by_name(files: Files) -> None:
    path = segments(files)[-1]
    header = bytearray(files[path][: HEADER_BYTES - 4])
    header[8] = 2
    newer = bytes(header) + crc32(header).to_bytes(4, "little")
    assert SegmentHeader.parse(files[path]) is not None
    with pytest.raises(NewerFormat, match="format 2"):
        open_log({**files, path: newer + files[path][HEADER_BYTES:]})


def test_a_text_that_holds_frames_of_the_log_is_not_taken_for_a_witness(files: Files) -> None:
    """A torn tail whose payload quotes frames of another segment is still only a torn tail."""
    path = segments(files)[-1]
    quoted = files[segments(files)[0]]
    only_segments = {path: files[path] for path in segments(files)}
    with open_log({**only_segments, path: files[path] + bytes(8) + quoted}) as log:
        assert all_numbers(log) == list(range(20))
        assert log.status().damage is None
