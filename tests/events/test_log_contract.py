"""Every log keeps the one contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from log_contract import LogContract
from log_samples import StepClock
from simulated_disk import SimulatedDisk

from recollect.events.memory_log import MemoryLog
from recollect.events.segment_log import SegmentLog


class TestMemoryLog(LogContract):
    @pytest.fixture
    def log(self, clock: StepClock) -> MemoryLog:
        return MemoryLog(clock)


class TestSegmentLog(LogContract):
    @pytest.fixture
    def log(self, clock: StepClock, tmp_path: Path) -> Iterator[SegmentLog]:
        with SegmentLog.open(tmp_path / "log", clock=clock, group_ms=1.0) as log:
            yield log


class TestSegmentLogOnASimulatedDisk(LogContract):
    @pytest.fixture
    def log(self, clock: StepClock) -> Iterator[SegmentLog]:
        with SegmentLog.open(Path("/store/log"), clock=clock, disk=SimulatedDisk(), group_ms=1.0) as log:
            yield log


class TestSegmentLogOfTinySegments(LogContract):
    """Every batch gets a segment of its own."""

    @pytest.fixture
    def log(self, clock: StepClock) -> Iterator[SegmentLog]:
        disk = SimulatedDisk()
        with SegmentLog.open(Path("/log"), clock=clock, disk=disk, segment_bytes=1, group_ms=1.0) as log:
            yield log
