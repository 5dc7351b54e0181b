"""Scrubbing reads sealed segments without their indexes, and finds what has rotted in any byte of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from log_samples import StepClock, notes
from simulated_disk import SimulatedDisk

from recollect.events.erasure import Intent, Overwrite
from recollect.events.scan import CHUNK_BYTES
from recollect.events.scrub import scrub, sealed_segments
from recollect.events.segment_format import HEADER_BYTES
from recollect.events.segment_log import SegmentLog

LOG = Path("/store/log")


@pytest.fixture
def disk() -> SimulatedDisk:
    """A log of several segments, one of them with an erased event."""
    disk = SimulatedDisk()
    with SegmentLog.open(LOG, disk=disk, clock=StepClock(), segment_bytes=1_000) as log:
        for first in range(0, 24, 2):
            log.append(notes(first, 2))
        log.erase([3])
    return disk


def changed(disk: SimulatedDisk, path: Path, content: bytes) -> SimulatedDisk:
    return SimulatedDisk.holding({**disk.files(), path: content})


def test_whole_segments_are_read_to_the_last_byte(disk: SimulatedDisk, tmp_path: Path) -> None:
    sealed = sealed_segments(LOG, disk)
    assert len(sealed) > 2
    for path in sealed:
        content = disk.files()[path]
        found = scrub(path, disk)
        assert (found.findings, found.bytes) == ((), len(content))
        assert found.events > 0
        (tmp_path / path.name).write_bytes(content)
        assert scrub(tmp_path / path.name) == found


def test_a_flipped_bit_in_any_byte_of_a_sealed_segment_is_found(disk: SimulatedDisk) -> None:
    path = sealed_segments(LOG, disk)[1]
    content = disk.files()[path]
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 1 << at % 8
        found = scrub(path, changed(disk, path, bytes(flipped))).findings
        assert found, f"byte {at}"
        assert at < HEADER_BYTES or found[0].offset <= at, f"byte {at}: {found[0]}"


class ErasingMeanwhile(SimulatedDisk):
    """An erasure begins with the first large read, and has overwritten half of the event; it ends later or not."""

    ends = False

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        data = super().read(descriptor, size, offset)
        if size == CHUNK_BYTES and self.pending:
            overwrites, self.pending = self.pending, []
            Intent(self, LOG).begin(overwrites)
            at = overwrites[0].offset - offset
            data = data[:at] + bytes(3) + data[at + 3 :]
            if self.ends:
                Intent(self, LOG).finish()
            else:
                with_half = self.open(LOG / overwrites[0].segment)
                self.write(with_half, bytes(3), overwrites[0].offset)
                self.close(with_half)
        return data

    pending: list[Overwrite]


@pytest.mark.parametrize("ends", [False, True])
def test_an_erasure_that_begins_meanwhile_is_no_damage(
    disk: SimulatedDisk, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    busy = ErasingMeanwhile.holding(disk.files())
    busy.ends, busy.pending = ends, []
    planned: list[Overwrite] = []
    with monkeypatch.context() as patched, SegmentLog.open(LOG, disk=busy, clock=StepClock()) as log:
        patched.setattr(Intent, "begin", lambda _, overwrites: planned.extend(overwrites))
        log.erase([2])
    busy.pending = planned
    path = LOG / planned[0].segment
    assert scrub(path, busy).findings == ()
    assert busy.pending == []


def test_a_segment_that_is_cut_short_is_found(disk: SimulatedDisk) -> None:
    path = sealed_segments(LOG, disk)[0]
    content = disk.files()[path]
    for size in range(0, len(content), 7):
        assert scrub(path, changed(disk, path, content[:size])).findings, f"cut to {size} bytes"


def test_the_growing_segment_before_one_that_was_only_begun_is_not_taken_for_a_sealed_one(
    disk: SimulatedDisk,
) -> None:
    sealed = sealed_segments(LOG, disk)
    begun = LOG / "00000000000000000025-ffffffff.seg"
    assert sealed_segments(LOG, changed(disk, begun, b"")) == sealed
