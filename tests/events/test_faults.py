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
from simulated_disk import SimulatedDisk

from recollect.events import segment_log
from recollect.events.errors import InvalidInput, LogDamaged, LogFailed
from recollect.events.facts import Recovered, Redacted
from recollect.events.head import HeadFile
from recollect.events.log import Durability
from recollect.events.segment_log import SegmentLog

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
                assert event.fact == note(number).fact or (
                    isinstance(event.fact, Redacted) and number in self.erased
                )
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


@pytest.mark.parametrize(
    ("error", "times"),
    [(errno.EIO, 1), (errno.EIO, 2), (errno.EIO, 7), (errno.ENOSPC, 1), (errno.ENOSPC, 3)],
    ids=["EIO", "EIO-twice", "EIO-7-times", "ENOSPC", "ENOSPC-3-times"],
)
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


class PickyDisk(SimulatedDisk):
    """Fails every call of the kinds in `broken`, on files whose name ends with `suffix`."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()
        self.suffix = ".seg"
        self._names: dict[int, str] = {}

    def open(self, path: Path, *, write: bool = True, create: bool = False) -> int:
        descriptor = super().open(path, write=write, create=create)
        self._names[descriptor] = path.name
        return descriptor

    def create(self, path: Path) -> int:
        descriptor = super().create(path)
        self._names[descriptor] = path.name
        return descriptor

    def _meet(self, kind: str, descriptor: int) -> None:
        if kind in self.broken and self._names.get(descriptor, "").endswith(self.suffix):
            self.fail_at(1)

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        self._meet("write", descriptor)
        super().write(descriptor, data, offset)

    def sync(self, descriptor: int) -> None:
        self._meet("sync", descriptor)
        super().sync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        self._meet("truncate", descriptor)
        super().truncate(descriptor, size)


def open_log(disk: SimulatedDisk) -> SegmentLog:
    return SegmentLog.open(PATH, disk=disk, clock=StepClock(), group_ms=0.0)


def test_a_failed_write_stands_in_the_status_until_one_succeeds() -> None:
    disk = PickyDisk()
    log = open_log(disk)
    log.append(notes(0, 1))
    disk.broken = {"write"}
    for number in (1, 2):
        with pytest.raises(LogFailed, match="nothing of it was acknowledged, and the next write tries again"):
            log.append(notes(number, 1))
        (trouble,) = log.status().troubles
        assert trouble.startswith("the last write failed: ")
        assert all_numbers(log) == [0]
    disk.broken = set()
    assert log.append(notes(3, 1)) == [2]
    assert log.status().troubles == ()


@pytest.mark.parametrize("broken", [{"sync"}, {"sync", "truncate"}], ids=["cut", "not-cut"])
def test_what_a_failed_sync_left_out_is_written_again_before_it_is_called_durable(broken: set[str]) -> None:
    """By the process that met the error, by one that was open beside it, and by one that was started after it."""
    for writer in ("same", "open", "fresh"):
        disk = PickyDisk()
        log, beside = open_log(disk), open_log(disk)
        log.append(notes(0, 2))
        log.append(notes(2, 3), durability="unsafe")
        beside.refresh()
        disk.broken = broken
        with pytest.raises(LogFailed):
            log.append(notes(5, 2))
        assert log.status().durable == 2
        disk.broken = set()
        one = open_log(disk) if writer == "fresh" else {"same": log, "open": beside}[writer]
        one.append(notes(7, 1))
        assert one.status().durable == one.head
        found = all_numbers(one)
        assert set(found) >= {0, 1, 2, 3, 4, 7}
        for seed in range(5):
            assert all_numbers(open_log(disk.crash(seed))) == found


def test_shown_events_that_a_failed_sync_lost_for_good_are_damage_and_nothing_is_written_over_them() -> None:
    disk = PickyDisk()
    log = open_log(disk)
    log.append(notes(0, 1))
    log.append(notes(1, 2), durability="unsafe")
    disk.broken = {"sync"}
    with pytest.raises(LogFailed):
        log.sync()
    disk.broken = set()
    with log._lock.held():
        segment = log._segments.of(2)
        disk.write(
            segment.file.descriptor, bytes(40), segment.extent(2)[0]
        )  # the page was dropped and read again
    for _ in range(2):
        with pytest.raises(LogDamaged, match="@2"):
            log.append(notes(3, 1))


def test_group_appends_whose_shared_sync_fails_are_all_refused_and_may_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk, written = PickyDisk(), threading.Event()
    log = open_log(disk)
    log.append(notes(0, 1))
    monkeypatch.setattr(segment_log, "time", type("Pause", (), {"sleep": lambda _: written.wait(300)}))
    refused: list[int] = []

    def append(number: int) -> None:
        try:
            log.append(notes(number, 1), durability="group")
        except LogFailed:
            refused.append(number)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    while log._segments.tail < 5:
        threading.Event().wait(0.001)
    disk.broken = {"sync"}
    written.set()
    for thread in threads:
        thread.join()
    assert sorted(refused) == [1, 2, 3, 4]
    assert all_numbers(log) == [0]
    disk.broken = set()
    assert log.append(notes(9, 1)) == [2]
    assert log.append(notes(1, 4), durability="group") == [3, 4, 5, 6]
    assert all_numbers(open_log(disk.crash(1))) == [0, 9, 1, 2, 3, 4]


def test_reading_follows_other_processes_after_a_failed_write() -> None:
    disk = PickyDisk()
    log, other = open_log(disk), open_log(disk)
    log.append(notes(0, 1))
    disk.broken = {"sync"}
    with pytest.raises(LogFailed):
        log.append(notes(1, 3))
    disk.broken = set()
    other.append(notes(10, 2))
    assert log.refresh() == 3
    assert all_numbers(log) == [0, 10, 11]


def test_a_head_that_cannot_be_read_leaves_the_reader_where_it_is_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = SimulatedDisk()
    log, other = open_log(disk), open_log(disk)
    log.append(notes(0, 1))
    other.append(notes(1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(
            HeadFile, "published", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "unreadable"))
        )
        assert log.refresh() == 1
        (trouble,) = log.status().troubles
        assert "unreadable" in trouble
    assert log.refresh() == 2
    assert log.status().troubles == ()


def test_an_event_that_is_durable_and_not_published_is_acknowledged_and_others_see_it_with_the_next_write() -> (
    None
):
    """A refusal would make its caller remember it twice."""
    disk = PickyDisk()
    disk.suffix = "head"
    log, other, late = open_log(disk), open_log(disk), open_log(disk)
    log.append(notes(0, 1))
    disk.broken = {"write"}
    assert log.append(notes(1, 1)) == [2]
    assert all_numbers(log) == [0, 1]
    (trouble,) = log.status().troubles
    assert "other processes do not see the events up to @2" in trouble
    assert other.refresh() == 1
    assert all_numbers(open_log(disk.crash(3))) == [0, 1]
    disk.repair()
    disk.broken = set()
    assert other.append(notes(2, 1)) == [3]
    assert late.refresh() == 3
    log.append(notes(3, 1))
    assert log.status().troubles == ()
    assert all_numbers(log) == [0, 1, 2, 3]


def test_closing_after_a_failure_is_quiet_if_all_is_durable_and_says_what_is_not() -> None:
    disk = PickyDisk()
    log = open_log(disk)
    log.append(notes(0, 1))
    disk.broken = {"write", "sync"}
    with pytest.raises(LogFailed):
        log.append(notes(1, 1))
    log.close()
    disk.broken = set()
    log = open_log(disk)
    log.append(notes(2, 2), durability="unsafe")
    disk.broken = {"sync"}
    with pytest.raises(
        LogFailed, match="the events after @1 could not be synced, and a power cut may take them"
    ):
        log.close()
    with pytest.raises(InvalidInput, match="closed"):
        log.refresh()
    disk.broken = set()
    assert open_log(disk).status().durable == 1


def test_an_erasure_that_fails_halfway_is_finished_by_the_next_write() -> None:
    disk = PickyDisk()
    log = open_log(disk)
    log.append(notes(0, 3))
    disk.broken = {"sync"}
    with pytest.raises(LogFailed):
        log.erase([2])
    disk.broken = set()
    log.append(notes(3, 1))
    assert isinstance(log.get(2).fact, Redacted)
    assert log.verify_chain() == []
    assert isinstance(open_log(disk.crash(1)).get(2).fact, Redacted)
