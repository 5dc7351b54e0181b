"""Who sees what, and when: two logs on one directory stand for two processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from log_samples import StepClock, all_numbers, note, notes
from simulated_disk import SimulatedDisk

from recollect.events import segment_log
from recollect.events.errors import HeadMoved, InvalidInput, LogBusy, LogReadOnly
from recollect.events.frame import prepare
from recollect.events.segment_log import SegmentLog

PATH = Path("/log")
WAIT_SECONDS = 120.0


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.001)


class WatchedDisk(SimulatedDisk):
    """Calls `on_sync` just before a sync, when written frames are in the page cache and not yet on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.on_sync = lambda: None
        self.syncs = 0

    def sync(self, descriptor: int) -> None:
        self.syncs += 1
        self.on_sync()
        super().sync(descriptor)


def open_log(disk: SimulatedDisk, **options: object) -> SegmentLog:
    return SegmentLog.open(PATH, disk=disk, clock=StepClock(), **{"group_ms": 0.0, **options})  # type: ignore[arg-type]


def test_another_process_sees_an_event_after_refresh() -> None:
    disk = SimulatedDisk()
    writer, reader = open_log(disk), open_log(disk)
    writer.append(notes(0, 3))
    assert reader.head == 0
    assert reader.refresh() == 3
    assert all_numbers(reader) == [0, 1, 2]


def test_a_reader_follows_into_new_segments() -> None:
    disk = SimulatedDisk()
    writer, reader = open_log(disk, segment_bytes=500), open_log(disk, read_only=False)
    for number in range(20):
        writer.append([note(number)], durability="unsafe")
        if number % 7 == 0:
            reader.refresh()
    assert reader.refresh() == 20
    assert all_numbers(reader) == list(range(20))


def test_a_durable_event_is_not_shown_before_it_is_on_disk() -> None:
    disk = WatchedDisk()
    writer, reader = open_log(disk), open_log(disk)
    writer.append(notes(0, 1))
    seen: list[tuple[int, int]] = []
    disk.on_sync = lambda: seen.append((reader.refresh(), writer.head))
    writer.append(notes(1, 2))
    disk.on_sync = lambda: None
    assert seen == [(1, 1)]
    assert reader.refresh() == writer.head == 3


def test_an_unsafe_event_is_shown_at_once_and_synced_by_the_next_durable_one() -> None:
    disk = WatchedDisk()
    writer, reader = open_log(disk), open_log(disk)
    writer.append(notes(0, 1))
    syncs = disk.syncs
    writer.append(notes(1, 1), durability="unsafe")
    assert (disk.syncs, reader.refresh(), writer.status().durable) == (syncs, 2, 1)
    writer.append(notes(2, 1))
    assert writer.status().durable == 3


class Leading:
    """Stands for the time that a leader gives others to join its sync: it waits until it is told to go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def sleep(self, _: float) -> None:
        self.begun.set()
        assert self.go_on.wait(WAIT_SECONDS)


@pytest.fixture
def leading(monkeypatch: pytest.MonkeyPatch) -> Leading:
    held = Leading()
    monkeypatch.setattr(segment_log, "time", held)
    return held


def test_a_group_event_is_not_shown_by_an_unsafe_one_behind_it(leading: Leading) -> None:
    disk = WatchedDisk()
    log, reader = open_log(disk), open_log(disk)
    log.append(notes(0, 1))
    shown: list[int] = []
    disk.on_sync = lambda: shown.append(reader.refresh())
    waiting = threading.Thread(target=lambda: log.append(notes(1, 1), durability="group"))
    waiting.start()
    assert leading.begun.wait(WAIT_SECONDS)
    assert log.head == 1
    assert log.append(notes(2, 1), durability="unsafe") == [3]
    leading.go_on.set()
    waiting.join()
    disk.on_sync = lambda: None
    assert shown[0] == 1
    assert reader.refresh() == 3


def test_group_appends_share_syncs(leading: Leading) -> None:
    disk = WatchedDisk()
    log = open_log(disk)
    log.append(notes(0, 1))
    before = disk.syncs
    threads = [
        threading.Thread(target=lambda n=number: log.append([note(n)], durability="group"))
        for number in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    until(lambda: log._segments.tail == 9)
    assert disk.syncs == before
    leading.go_on.set()
    for thread in threads:
        thread.join()
    assert log.head == 9
    assert disk.syncs == before + 1


def test_what_a_dead_writer_wrote_but_did_not_publish_is_synced_before_it_is_shown() -> None:
    disk = WatchedDisk()
    dead, other = open_log(disk), open_log(disk)
    dead.append(notes(0, 1))
    with dead._lock.held():
        dead._writer._write(prepare(notes(1, 1)))
    assert other.refresh() == 1
    before = disk.syncs
    assert other.append(notes(2, 1), durability="unsafe") == [3]
    assert disk.syncs == before + 1
    assert other.status().durable == 2
    assert all_numbers(other) == [0, 1, 2]


def test_a_head_file_that_promises_lost_unsafe_events_shows_nothing_early() -> None:
    """After a power cut the publication of unsafe events may be left without the events."""
    before = SimulatedDisk()
    log = open_log(before)
    log.append(notes(0, 2))
    segments = {path: data for path, data in before.files().items() if path.suffix == ".seg"}
    log.append(notes(2, 5), durability="unsafe")
    disk = WatchedDisk.holding({**before.files(), **segments})
    assert isinstance(disk, WatchedDisk)
    writer, reader = open_log(disk), open_log(disk)
    assert (writer.head, reader.refresh()) == (2, 2)
    shown: list[int] = []
    disk.on_sync = lambda: shown.append(reader.refresh())
    writer.append(notes(20, 1))
    disk.on_sync = lambda: None
    assert shown == [2]
    assert all_numbers(writer) == [0, 1, 20]


def test_two_processes_take_turns_and_share_ids_and_heads() -> None:
    disk = SimulatedDisk()
    a, b = open_log(disk, segment_bytes=700), open_log(disk, segment_bytes=700)
    for turn in range(10):
        writer = (a, b)[turn % 2]
        assert writer.append(notes(turn, 1), expect=turn) == [turn + 1]
    assert a.append(notes(9, 1)) == [10]
    with pytest.raises(HeadMoved):
        a.append(notes(50, 1), expect=9)
    a.refresh()
    b.refresh()
    assert [a.chain_at(seq) for seq in range(11)] == [b.chain_at(seq) for seq in range(11)]


def test_reading_only_needs_a_log_and_refuses_to_write() -> None:
    disk = SimulatedDisk()
    with pytest.raises(InvalidInput, match="no log"):
        open_log(disk, read_only=True)
    open_log(disk).append(notes(0, 2))
    reader = open_log(disk, read_only=True)
    assert all_numbers(reader) == [0, 1]
    for write in (lambda: reader.append(notes(2, 1)), reader.sync, lambda: reader.erase([1])):
        with pytest.raises(LogReadOnly):
            write()
    before = disk.files()
    reader.close()
    assert disk.files() == before


def test_reading_only_shows_all_that_is_whole_when_the_head_file_is_lost() -> None:
    disk = SimulatedDisk()
    open_log(disk).append(notes(0, 2))
    segments = {path: data for path, data in disk.files().items() if path.suffix == ".seg"}
    torn = {path: data + b"torn" for path, data in segments.items()}
    held = SimulatedDisk.holding(torn)
    reader = open_log(held, read_only=True)
    assert all_numbers(reader) == [0, 1]
    assert held.files() == torn


def test_a_log_that_is_being_written_says_busy() -> None:
    disk = SimulatedDisk()
    a, b = open_log(disk), open_log(disk, lock_timeout_s=0.05)
    with a._lock.held(), pytest.raises(LogBusy, match=r"for \d+\.\d s"):
        b.append(notes(0, 1))
    assert b.append(notes(0, 1)) == [1]


def test_a_closed_log_refuses_to_read_and_write() -> None:
    log = open_log(SimulatedDisk())
    log.append(notes(0, 1))
    log.close()
    log.close()
    for use in (lambda: log.append(notes(1, 1)), lambda: log.get(1), log.read, log.refresh, log.status):
        with pytest.raises(InvalidInput, match="closed"):
            use()


def test_closing_makes_unsafe_events_durable() -> None:
    disk = SimulatedDisk()
    with open_log(disk) as log:
        log.append(notes(0, 5), durability="unsafe")
    assert all_numbers(open_log(disk.crash(1))) == [0, 1, 2, 3, 4]
