"""A segment that was taken over whole, from its trailer, can be followed anew from any event of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from log_samples import notes
from simulated_disk import SimulatedDisk

from recollect.events.segment_log import SegmentLog

PLACE = Path("/log")


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_a_sealed_segment_is_cut_and_followed_to_its_end_again(kept: int):
    disk = SimulatedDisk()
    with SegmentLog.open(PLACE, disk=disk, segment_bytes=1_000) as log:
        for number in range(1, 8):
            log.append(notes(number, 1))
    with SegmentLog.open(PLACE, disk=disk, segment_bytes=1_000) as log:
        assert log._segments.of(4) is log._segments.of(1)
        before = [(event.seq, event.type, event.payload) for event in log.read()]
        types = [segment.types() for segment in log._segments]
        log._segments.rewind(kept)
        assert log._segments.tail == kept
        assert sum(log._segments.last.types().values()) == kept
        assert log._segments.follow() is None
        assert [(event.seq, event.type, event.payload) for event in log.read()] == before
        assert [segment.types() for segment in log._segments] == types
        assert log.verify_chain() == []
