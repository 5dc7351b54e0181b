"""A program whose disk fails for a while and that goes on: one process, the n-th operation fails, for every n.

Two logs on one directory stand for two processes. A refused append is there as a whole or not at all, everything
acknowledged is there, and once the disk works again so do both; a power cut after the next acknowledged append takes
nothing. The simulated disk forgets what a failed sync should have written, as Linux does.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from log_samples import StepClock, all_numbers, note, notes

from recollect.events import segment_log
from recollect.events.errors import InvalidInput, LogDamaged, LogFailed
from recollect.events.facts import Recovered, Redacted
from recollect.events.head import HeadFile
from recollect.events.log import Durability
from recollect.events.segment_log import SegmentLog
from recollect.events.simulated_disk import SimulatedDisk

PATH = Path("/store/log")
T = TypeVar("T")
TRIES_MAX = 60


class FaultyDisk(SimulatedDisk):
    """Fails `times` operations from the n-th on; ENOSPC lets half of a write through."""

    times = 1
    paused = False

    def break_at(self, operation: int, error: int, times: int) -> None:
        self.times = times
        self.fail_at(operation, error)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Let the test look without meeting the fault."""
        before, self.paused = self.operations, True
        try:
            yield
        finally:
            self.operations, self.paused = before, False

    def _step(self) -> int:
        if self.paused:
            return 0
        self.operations += 1
        first, error = self._fail_at, self._error
        return error if first is not None and error and first <= self.operations < first + self.times else 0


@dataclass
class Run:
    """What was appended and what was said about it."""

    disk: FaultyDisk
    next_number: int = 0
    batches: list[range] = field(default_factory=list)
    acknowledged: list[range] = field(default_factory=list)
    erased: set[int] = field(default_factory=set)
    refusals: int = 0
    logs: list[SegmentLog] = field(default_factory=list)

    def open(self) -> SegmentLog:
        log = self.until_done(
            lambda: SegmentLog.open(PATH, disk=self.disk, clock=StepClock(), segment_bytes=700, group_ms=0.0)
        )
        self.logs.append(log)
        return log

    def until_done(self, call: Callable[[], T]) -> T:
        for _ in range(TRIES_MAX):
            try:
                return call()
            except LogFailed:
                self.refusals += 1
        raise AssertionError("the disk works again and the log does not")

    def append(self, log: SegmentLog, count: int, durability: Durability, *, again: bool) -> None:
        batch = range(self.next_number, self.next_number + count)
        self.next_number += count
        self.batches.append(batch)
        drafts = notes(batch.start, count)
        try:
            log.append(drafts, durability=durability)
        except LogFailed:
            self.refusals += 1
            self.look(log)
            if not again:
                return
            self.until_done(lambda: log.append(drafts, durability=durability))
        self.acknowledged.append(batch)

    def erase(self, log: SegmentLog) -> None:
        with self.disk.at_rest():
            number = self.acknowledged[0].start
            seq = next(event.seq for event in log.read() if event.id == note(number).id)
        self.erased.add(number)
        self.until_done(lambda: log.erase([seq]))

    def close(self, log: SegmentLog) -> None:
        try:
            log.close()
        except LogFailed:
            self.refusals += 1

    def look(self, log: SegmentLog) -> list[int]:
        """Everything that the log shows is as it was appended: whole batches, all that was acknowledged."""
        with self.disk.at_rest():
            log.refresh()
            events = list(log.read())
            assert [event.seq for event in events] == list(range(1, log.head + 1))
            found = []
            for event in events:
                if isinstance(event.fact, Recovered):
                    continue
                number = int.from_bytes(event.id, "big") - 1
                assert event.fact == note(number).fact or (isinstance(event.fact, Redacted) and number in self.erased)
                found.append(number)
        assert len(found) == len(set(found)), "an event is there twice"
        whole = [batch for batch in self.batches if batch.start in found]
        assert sorted(found) == [number for batch in whole for number in batch], "half a batch is there"
        if not any(one._writer.unpublished for one in self.logs if one is not log):
            assert set(self.acknowledged) <= set(whole), "acknowledged events are missing"
        return found


def program(run: Run) -> tuple[SegmentLog, SegmentLog]:
    """Every kind of call, by two processes in turn; a refused append is given again, or given up."""
    log, other = run.open(), run.open()
    run.append(log, 2, "durable", again=True)
    run.append(log, 1, "unsafe", again=False)
    run.append(log, 3, "durable", again=False)
    run.append(other, 1, "unsafe", again=True)
    run.append(log, 2, "group", again=True)
    run.append(log, 4, "unsafe", again=True)
    run.erase(log)
    run.append(other, 2, "durable", again=False)
    run.append(log, 1, "durable", again=True)
    run.close(log)
    log = run.open()
    run.append(log, 2, "unsafe", again=False)
    run.append(log, 1, "durable", again=True)
    return log, other


@pytest.mark.parametrize("times", [1, 2, 7])
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_whatever_operation_fails_the_process_goes_on_and_loses_nothing(error: int, times: int) -> None:
    operation, refusals = 0, 0
    while True:
        operation += 1
        run = Run(FaultyDisk())
        run.disk.break_at(operation, error, times)
        try:
            log, other = program(run)
            if run.disk.operations < operation:
                break
            run.disk.repair()
            run.append(log, 1, "durable", again=False)
            run.append(other, 1, "durable", again=False)
            found = run.look(log)
            assert run.batches[-2:] == run.acknowledged[-2:], "the disk works again and the log does not"
            assert run.look(other) == found
            assert (log.status().troubles, other.status().troubles) == ((), ())
            assert log.verify_chain() == []
            run.disk = FaultyDisk(run.disk.crash(operation)._root, boot=2)
            assert run.look(SegmentLog.open(PATH, disk=run.disk, segment_bytes=700)) == found
        except BaseException as problem:
            problem.add_note(f"operation {operation} and {times - 1} more failed")
            raise
        refusals += run.refusals
    assert operation > 150
    assert refusals > operation / 2
