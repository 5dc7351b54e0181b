"""A clock that ran ahead: refused beyond a bound, corrected by an event, and moments are found right after it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from log_samples import note
from simulated_disk import SimulatedDisk

from recollect.events.clock import AHEAD_MAX, CLOCK_CORRECTED, ClockAhead
from recollect.events.envelope import draft
from recollect.events.facts import ClockCorrected
from recollect.events.memory_log import MemoryLog
from recollect.events.segment_log import SegmentLog
from recollect.events.transfer import TransferableLog, export_lines, import_lines

PATH = Path("/log")
DAY = 24 * 3_600 * 1_000_000
NOW = 1_763_000_000_000_000
AHEAD = NOW + 3_652 * DAY

Make = Callable[[Callable[[], int]], TransferableLog]
KINDS: dict[str, Make] = {
    "memory": MemoryLog,
    "one segment": lambda clock: SegmentLog.open(PATH, disk=SimulatedDisk(), clock=clock),
    "tiny segments": lambda clock: SegmentLog.open(
        PATH, disk=SimulatedDisk(), clock=clock, segment_bytes=400
    ),
}


class Hands:
    """A clock that stands where it is put."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def correction(log: TransferableLog, at: int) -> ClockCorrected:
    return ClockCorrected(first=1, at=at, was=log.time_of(log.head))


def ran_ahead(log: TransferableLog, clock: Hands) -> None:
    """@1 a day ago, @2 now, @3 and @4 in ten years; the clock is right again, and an hour on."""
    for number, moment in enumerate((NOW - DAY, NOW, AHEAD, AHEAD + 1)):
        clock.now = moment
        log.append([note(number)])
    clock.now = NOW + DAY // 24


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Make:
    return KINDS[request.param]


def test_nothing_is_written_while_recorded_time_is_too_far_ahead(make: Make) -> None:
    clock = Hands(NOW + AHEAD_MAX)
    log = make(clock)
    log.append([note(0)])
    clock.now = NOW
    assert log.append([note(1)]) == [2]  # just within the bound: recorded time waits for the clock
    assert log.time_of(2) == NOW + AHEAD_MAX
    clock.now -= 1
    before = log.chain_at(log.head)
    with pytest.raises(ClockAhead, match=r"2025-11-14T02:13:20.000000Z, 1 day ahead of.*2025-11-13.*--fix"):
        log.append([note(2)])
    assert (log.head, log.chain_at(2)) == (2, before)
    assert log.append([note(1)]) == [2]  # a retry writes nothing and is answered
    clock.now += 1
    assert log.append([note(2)]) == [3]


def test_the_bound_is_the_callers_to_set() -> None:
    disk = SimulatedDisk()
    with SegmentLog.open(PATH, disk=disk, clock=Hands(AHEAD)) as log:
        log.append([note(0)])
    with SegmentLog.open(PATH, disk=disk, clock=Hands(), ahead_max=AHEAD - NOW) as log:
        assert log.clock_ahead() is None
        log.append([note(1)])
        assert log.time_of(2) == AHEAD


def test_after_a_correction_events_get_the_true_time_and_old_ones_keep_theirs(make: Make) -> None:
    clock = Hands()
    log = make(clock)
    ran_ahead(log, clock)
    assert log.clock_ahead() is not None
    log.append([draft(correction(log, clock.now))])
    noticed = clock.now
    clock.now += DAY
    log.append([note(9)])
    assert log.clock_ahead() is None
    assert [log.time_of(seq) for seq in range(7)] == [
        0, NOW - DAY, NOW, AHEAD, AHEAD + 1, noticed, noticed + DAY
    ]  # fmt: skip
    assert [log.effective_time(seq) for seq in range(7)] == [
        0, NOW - DAY, NOW, noticed, noticed, noticed, noticed + DAY
    ]  # fmt: skip
    moments = (NOW - DAY - 1, NOW - DAY, NOW, noticed - 1, noticed, noticed + DAY - 1, noticed + DAY, AHEAD)
    assert [log.seq_at(moment) for moment in moments] == [0, 1, 2, 2, 5, 5, 6, 6]
    assert log.verify_chain() == []


def test_until_it_is_corrected_what_is_ahead_reads_as_if_it_had_just_happened(make: Make) -> None:
    clock = Hands()
    log = make(clock)
    ran_ahead(log, clock)
    just_now = clock.now - DAY // 1_440
    assert [log.seq_at(moment) for moment in (NOW, just_now - 1, clock.now, AHEAD)] == [2, 2, 4, 4]
    assert [log.effective_time(seq) for seq in (2, 3, 4)] == [NOW, just_now, just_now]
    assert log.time_of(4) == AHEAD + 1


@pytest.mark.parametrize("seed", range(40))
def test_moments_are_found_by_effective_time_whatever_clocks_did(seed: int) -> None:
    """Many runaways and corrections, in segments of any size, read by three instances; against the definition."""
    chance, clock, disk = random.Random(seed), Hands(), SimulatedDisk()
    size = chance.choice((300, 900, 5_000))
    log = SegmentLog.open(PATH, disk=disk, clock=clock, segment_bytes=size)
    other = SegmentLog.open(PATH, disk=disk, clock=clock, segment_bytes=size)
    for number in range(60):
        clock.now += chance.choice((0, 1, 5, 2 * DAY, -DAY // 2, -3 * DAY))
        if log.clock_ahead() is None:
            log.append([note(number)], durability=chance.choice(("durable", "unsafe")))
        elif chance.random() < 0.5:
            log.append([draft(correction(log, clock.now))])
        if chance.random() < 0.2:
            other.refresh()
            other.seq_at(clock.now)
    clock.now = max(clock.now, log.time_of(log.head))
    reopened = SegmentLog.open(PATH, disk=disk, clock=clock, read_only=True)
    other.refresh()
    times = [log.time_of(seq) for seq in range(1, log.head + 1)]
    happened = [
        min(times[place:]) for place in range(len(times))
    ]  # the definition: times fall at corrections only
    assert [event.type for event in log.read()].count(CLOCK_CORRECTED) >= sum(
        later < earlier for earlier, later in pairwise(times)
    )
    for reader in (log, other, reopened):
        assert [reader.effective_time(seq) for seq in range(1, log.head + 1)] == happened
        for moment in {moment + step for moment in times for step in (-1, 0, 1)}:
            assert reader.seq_at(moment) == sum(one <= moment for one in happened), moment
    for reader in (log, other, reopened):
        reader.close()


@pytest.mark.parametrize("size", [300, 1 << 20])
def test_other_processes_and_later_openings_go_on_from_the_correction(size: int) -> None:
    disk, clock = SimulatedDisk(), Hands()
    other = SegmentLog.open(PATH, disk=disk, clock=clock, segment_bytes=size)
    with SegmentLog.open(PATH, disk=disk, clock=clock, segment_bytes=size) as log:
        ran_ahead(log, clock)
        log.append([draft(correction(log, clock.now))])
    clock.now += 5
    other.append([note(9)])
    assert (other.time_of(6), other.seq_at(clock.now - 1)) == (clock.now, 5)
    other.close()
    clock.now += 5
    with SegmentLog.open(PATH, disk=disk, clock=clock, segment_bytes=size) as log:
        log.append([note(10)])
        assert (log.time_of(7), log.seq_at(clock.now - 1)) == (clock.now, 6)


def test_a_log_with_a_correction_is_exported_and_imported_as_it_is(make: Make) -> None:
    clock = Hands()
    log = make(clock)
    ran_ahead(log, clock)
    log.append([draft(correction(log, clock.now))])
    clock.now += DAY
    log.append([note(9)])
    for copy in (kind(clock) for kind in KINDS.values()):
        assert import_lines(copy, export_lines(log)) == 6
        assert copy.chain_at(6) == log.chain_at(6)
        assert [copy.effective_time(seq) for seq in range(7)] == [log.effective_time(seq) for seq in range(7)]
        assert [copy.seq_at(clock.now - back) for back in (0, 1, DAY, DAY + 1)] == [6, 5, 5, 2]
        copy.append([note(10)])
        assert copy.time_of(7) == clock.now


def test_a_log_that_is_ahead_is_recovered_and_read() -> None:
    disk, clock = SimulatedDisk(), Hands(AHEAD)
    with SegmentLog.open(PATH, disk=disk, clock=clock) as log:
        log.append([note(0)])
    (name,) = [name for name in disk.names(PATH) if name.endswith(".seg")]
    descriptor = disk.open(PATH / name)
    disk.write(descriptor, b"half a frame", disk.size(descriptor))
    disk.close(descriptor)
    clock.now = NOW
    with SegmentLog.open(PATH, disk=disk, clock=clock) as log:
        assert [event.type for event in log.read()] == ["memory.ingested", "log.recovered"]
        assert log.time_of(2) == AHEAD
        with pytest.raises(ClockAhead):
            log.append([note(1)])
        log.append([draft(correction(log, NOW))])
        assert log.append([note(1)]) == [4]
