"""Power cuts, torn writes, flipped bits and failing calls, on a simulated disk.

A durable event is acknowledged once `append` has returned. After any accident all acknowledged events are there
in order, or the log says which one is damaged; and what is there is a prefix of what was appended, in whole
batches.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from log_samples import StepClock, all_numbers, notes, numbers
from simulated_disk import PowerCut, SimulatedDisk

from recollect.events.envelope import Recorded
from recollect.events.errors import LogDamaged, LogFailed
from recollect.events.log import Durability
from recollect.events.recovery import QUARANTINE
from recollect.events.segment_log import SegmentLog

PATH = Path("/store/log")
DURABILITIES: tuple[Durability, ...] = ("durable", "group", "unsafe")


@dataclass
class History:
    """What was appended, batch by batch, and how many events of it were acknowledged as durable."""

    appended: list[int] = field(default_factory=list)
    batch_ends: set[int] = field(default_factory=lambda: {0})
    durable: int = 0
    next_number: int = 0

    def submit(self, count: int) -> int:
        first = self.next_number
        self.next_number += count
        self.appended += range(first, first + count)
        self.batch_ends.add(len(self.appended))
        return first

    def check(self, log: SegmentLog) -> None:
        found = all_numbers(log)
        assert log.status().damage is None
        assert found == self.appended[: len(found)], "not a prefix of what was appended"
        assert len(found) >= self.durable, "acknowledged events are missing"
        assert len(found) in self.batch_ends, "half a batch is there"
        assert log._head.missing_at(log.head) == 0, "a power cut looks like a lost head file"
        self.appended = found
        self.batch_ends = {end for end in self.batch_ends if end <= len(found)}
        self.durable = len(found)


def open_log(disk: SimulatedDisk, *, segment_bytes: int = 2000) -> SegmentLog:
    return SegmentLog.open(PATH, disk=disk, clock=StepClock(), segment_bytes=segment_bytes, group_ms=0.0)


def live(disk: SimulatedDisk, history: History, rng: Random) -> None:
    """One run of a program until its disk loses power."""
    log = open_log(disk, segment_bytes=rng.choice((500, 2000, 10_000)))
    history.check(log)
    while True:
        step = rng.random()
        if step < 0.04:
            log.sync()
            history.durable = len(history.appended)
        elif step < 0.08:
            log.close()
            history.durable = len(history.appended)
            log = open_log(disk)
        else:
            count = rng.choice((1, 1, 2, 3, 8, 40))
            durability = rng.choice(DURABILITIES)
            log.append(notes(history.submit(count), count), durability=durability)
            if durability != "unsafe":
                history.durable = len(history.appended)


@pytest.mark.parametrize("block", range(20))
def test_two_thousand_power_cuts_lose_nothing_acknowledged(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        rng = Random(seed)
        disk, history = SimulatedDisk(), History()
        for cut in range(4):
            disk.cut_at(rng.randint(1, 150))
            try:
                with pytest.raises(PowerCut):
                    live(disk, history, rng)
                disk = disk.crash(rng)
            except BaseException as error:
                error.add_note(f"seed {seed}, power cut {cut}")
                raise
        history.check(open_log(disk))


def written(count: int = 6, *, segment_bytes: int = 1_000) -> SimulatedDisk:
    """A closed log of durable batches of two events."""
    disk = SimulatedDisk()
    with open_log(disk, segment_bytes=segment_bytes) as log:
        for first in range(0, count, 2):
            log.append(notes(first, 2))
    return disk


def readable(log: SegmentLog) -> tuple[list[Recorded], LogDamaged | None]:
    events: list[Recorded] = []
    try:
        events.extend(log.read())
    except LogDamaged as damage:
        return events, damage
    return events, log._writer.damage


def last_segment(disk: SimulatedDisk) -> Path:
    return max(path for path in disk.files() if path.suffix == ".seg")


def without_witness(files: dict[Path, bytes]) -> dict[Path, bytes]:
    return {path: data for path, data in files.items() if path.suffix == ".seg"}


def test_a_log_cut_at_any_byte_of_its_last_batch_opens_with_the_batches_before() -> None:
    disk = written(6, segment_bytes=100_000)
    with open_log(disk) as log:
        begin, end = log._segments.of(5).extent(5)[0], log._segments.of(6).extent(6)[1]
    files = without_witness(disk.files())
    name = last_segment(disk)
    for cut in range(begin, end):
        cut_disk = SimulatedDisk.holding({**files, name: files[name][:cut]})
        with open_log(cut_disk) as log:
            assert all_numbers(log) == [0, 1, 2, 3]
            aside = {
                path.name: data for path, data in cut_disk.files().items() if path.parent.name == QUARANTINE
            }
            assert list(aside.values()) == ([files[name][begin:cut]] if cut > begin else [])
            assert log.append(notes(9, 1)) == [6 if cut > begin else 5]
        with open_log(cut_disk) as log:
            assert all_numbers(log) == [0, 1, 2, 3, 9]
            assert log.verify_chain() == []


def test_a_log_cut_at_any_byte_of_its_last_batch_is_damaged_if_the_head_file_knows_better() -> None:
    disk = written(6, segment_bytes=100_000)
    with open_log(disk) as log:
        begin, middle = log._segments.of(5).extent(5)
        end = log._segments.of(6).extent(6)[1]
    files, name = disk.files(), last_segment(disk)
    for cut in range(begin, end):
        cut_files = {**files, name: files[name][:cut]}
        cut_disk = SimulatedDisk.holding(cut_files)
        log = open_log(cut_disk)
        assert numbers(list(log.read())) == ([0, 1, 2, 3] if cut < middle else [0, 1, 2, 3, 4])
        with pytest.raises(LogDamaged) as caught:
            log.append(notes(9, 1))
        assert caught.value.seq == (5 if cut < middle else 6)
        log.close()
        assert cut_disk.files()[name] == cut_files[name]


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "running"])
def test_a_flip_of_any_bit_is_harmless_or_reported_with_its_seq(bit: int, *, closed: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=600)
    for first in (0, 2):
        log.append(notes(first, 2))
    if closed:
        log.close()
    files = disk.files()
    for path, content in files.items():
        for at in range(len(content)):
            flipped = bytearray(content)
            flipped[at] ^= 1 << bit
            hurt = SimulatedDisk.holding({**files, path: bytes(flipped)})
            log = open_log(hurt)
            events, damage = readable(log)
            found = numbers(events)
            assert found == list(range(len(found))), f"{path.name}, byte {at}"
            if len(found) < 4:
                assert damage is not None, f"{path.name}, byte {at}: events are gone"
                assert damage.seq == len(found) + 1, f"{path.name}, byte {at}"


def test_a_flip_in_an_earlier_batch_is_damage_because_a_later_one_calls_it_durable() -> None:
    """Without a head file the `durable_seq` of the third batch is the only witness for the first two."""
    disk = written(6, segment_bytes=100_000)
    with open_log(disk) as log:
        begin, end = log._segments.of(1).extent(1)[0], log._segments.of(5).extent(5)[0]
    files, name = without_witness(disk.files()), last_segment(disk)
    for at in range(begin, end):
        flipped = bytearray(files[name])
        flipped[at] ^= 1 << at % 8
        events, damage = readable(open_log(SimulatedDisk.holding({**files, name: bytes(flipped)})))
        assert damage is not None, f"byte {at}"
        assert numbers(events) == list(range(damage.seq - 1)), f"byte {at}"
        assert damage.seq <= 4


class UnsyncableDisk(SimulatedDisk):
    """Fails to sync while `broken`."""

    broken = False

    def sync(self, descriptor: int) -> None:
        if self.broken:
            self.fail_sync(descriptor, errno.EIO)
        super().sync(descriptor)


@pytest.mark.parametrize("durability", ["durable", "group"])
def test_a_batch_whose_sync_failed_is_taken_back(durability: Durability) -> None:
    """Left in the page cache, it would be taken for durable by a second sync that has nothing more to write."""
    disk = UnsyncableDisk()
    log = open_log(disk)
    log.append(notes(0, 1))
    log.append(notes(1, 1), durability="unsafe")
    disk.broken = True
    with pytest.raises(LogFailed, match="Input/output error"):
        log.append(notes(2, 2), durability=durability)
    disk.broken = False
    assert all_numbers(log) == [0, 1]
    assert all_numbers(open_log(disk)) == [0, 1]


def scenario(disk: SimulatedDisk, history: History) -> None:
    """Every kind of call once."""
    for _ in range(2):
        log = open_log(disk, segment_bytes=900)
        for durability, count in (("unsafe", 1), ("durable", 3), ("group", 2), ("unsafe", 2), ("durable", 1)):
            first = history.submit(count)
            log.append(notes(first, count), durability=durability)  # type: ignore[arg-type]
            if durability != "unsafe":
                history.durable = len(history.appended)
        log.sync()
        history.durable = len(history.appended)
        log.close()


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("power_cut", [True, False], ids=["and-power-cut", "same-boot"])
def test_any_failing_call_of_a_program_that_ends_with_it_loses_nothing_acknowledged(
    error: int, *, power_cut: bool
) -> None:
    operation = 0
    failed = True
    while failed:
        operation += 1
        disk, history = SimulatedDisk(), History()
        disk.fail_at(operation, error)
        try:
            scenario(disk, history)
            failed = disk.operations >= operation
        except LogFailed:
            pass
        try:
            disk.repair()
            if power_cut:
                disk = disk.crash(operation)
            log = open_log(disk)
            history.check(log)
            log.append(notes(history.submit(1), 1))
            assert log.verify_chain() == []
        except BaseException as problem:
            problem.add_note(f"operation {operation} failed")
            raise
    assert operation > 100


def test_a_recovery_is_recorded_in_the_log() -> None:
    disk = written(4, segment_bytes=100_000)
    files, name = without_witness(disk.files()), last_segment(disk)
    with open_log(SimulatedDisk.holding({**files, name: files[name] + b"torn bytes"})) as log:
        recovered = log.get(5)
        assert recovered.type == "log.recovered"
        assert (recovered.fact.segment, recovered.fact.offset) == (name.name, len(files[name]))  # type: ignore[union-attr]
        assert recovered.fact.length == len(b"torn bytes")  # type: ignore[union-attr]
        assert log.status().recovered == (recovered.fact.quarantined_as,)  # type: ignore[union-attr]
