"""Ctrl-C at any line of an append: the log in memory and the one on disk stay whole, and the append can be repeated."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from log_samples import StepClock, all_numbers, notes
from simulated_disk import SimulatedDisk

from recollect.events import segment, segment_index, segment_writer
from recollect.events.segment_log import SegmentLog

WATCHED = {module.__file__ for module in (segment, segment_index, segment_writer)}


class Interrupt:
    """Raises KeyboardInterrupt at the n-th line that runs in the modules of a segment, counted from its entering."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.lines = 0

    def __enter__(self) -> Interrupt:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.line and not _assigns_only(frame):
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._trace


def _assigns_only(frame: FrameType) -> bool:
    """Between these assignments there is no call, and so no moment at which a signal is looked at."""
    return frame.f_code is segment.Segment._take.__code__ and "last_at" in frame.f_locals


def open_log(disk: SimulatedDisk) -> SegmentLog:
    return SegmentLog.open(Path("/log"), disk=disk, clock=StepClock(), segment_bytes=900)


def test_an_append_that_is_interrupted_anywhere_leaves_a_whole_log():
    line, ended = 0, False
    while not ended:
        line += 1
        disk = SimulatedDisk()
        log = open_log(disk)
        log.append(notes(0, 3))
        other = SegmentLog.open(Path("/log"), disk=disk, read_only=True)
        with Interrupt(line) as stop, suppress(KeyboardInterrupt):
            log.append(notes(3, 3))
        ended = stop.lines < line
        log.append(notes(3, 3))
        other.refresh()
        assert all_numbers(other) == list(range(6))  # what is acknowledged is shown to others
        other.close()
        log.append(notes(6, 1))
        assert all_numbers(log) == list(range(7))
        assert log.status().damage is None
        log.close()
        with open_log(disk) as again:
            assert all_numbers(again) == list(range(7))
            assert again.verify_chain() == []
    assert line > 20
