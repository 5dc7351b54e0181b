"""What a log on files keeps from one opening to the next, and at which cost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from log_samples import StepClock, all_numbers, note, notes
from simulated_disk import SimulatedDisk

from recollect.events.envelope import Draft, draft, new_event_id
from recollect.events.errors import EventIdReused
from recollect.events.facts import Forgotten
from recollect.events.segment_index import Place, SegmentIndex
from recollect.events.segment_log import SegmentLog

PATH = Path("/log")


class CountingDisk(SimulatedDisk):
    """Counts the bytes that were read."""

    read_bytes = 0

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        data = super().read(descriptor, size, offset)
        self.read_bytes += len(data)
        return data


def open_log(disk: SimulatedDisk, *, segment_bytes: int = 3_000) -> SegmentLog:
    return SegmentLog.open(PATH, disk=disk, clock=StepClock(), segment_bytes=segment_bytes)


def ids_of(kind: str) -> list[bytes]:
    rng = random.Random(1)
    match kind:
        case "time-ordered":
            return [new_event_id() for _ in range(300)]
        case "random":
            return [rng.randbytes(16) for _ in range(300)]
        case "same first half":
            return [bytes(8) + rng.randbytes(8) for _ in range(300)]
        case _:
            return [rng.randbytes(8) + bytes(8) for _ in range(300)]


@pytest.mark.parametrize("kind", ["time-ordered", "random", "same first half", "same second half"])
def test_ids_are_known_for_ever_in_every_segment(kind: str) -> None:
    disk, ids = SimulatedDisk(), ids_of(kind)
    events = [draft(Forgotten(id=id_.hex()), event_id=id_) for id_ in ids]
    for start in range(0, 300, 50):
        with open_log(disk) as log:
            log.append(events[start : start + 25])
            log.append(events[start + 25 : start + 50], durability="unsafe")
    with open_log(disk) as log:
        assert log.status().segments >= 5
        assert log.append(events) == list(range(1, 301))
        for seq in (1, 77, 300):
            with pytest.raises(EventIdReused):
                log.append([draft(Forgotten(id="other"), event_id=ids[seq - 1])])
        assert log.append([draft(Forgotten(id="new"), event_id=bytes(15) + b"\x01")]) == [301]


def test_opening_reads_sealed_segments_by_their_ends_only() -> None:
    disk = CountingDisk()
    with open_log(disk, segment_bytes=50_000) as log:
        for first in range(0, 3_000, 100):
            log.append(notes(first, 100), durability="unsafe")
        size = log.status().bytes
    disk.read_bytes = 0
    log = open_log(disk)
    assert log.head == 3_000
    assert disk.read_bytes < size / 10
    log.get(2_500)
    assert disk.read_bytes < size / 5


def test_an_event_larger_than_a_segment_and_a_reading_piece_is_kept() -> None:
    disk = SimulatedDisk()
    large = note(1, text="long " * 600_000)
    with open_log(disk) as log:
        log.append([note(0)])
        log.append([large, note(2)])
        log.append([note(3)])
    with open_log(disk) as log:
        assert log.get(2).fact == large.fact
        assert [recorded.seq for recorded in log.read()] == [1, 2, 3, 4]
        assert log.verify_chain() == []


def test_recorded_times_go_on_from_the_last_event_after_reopening() -> None:
    disk = SimulatedDisk()
    with SegmentLog.open(PATH, disk=disk, clock=lambda: 5_000) as log:
        log.append([note(0)])
    with SegmentLog.open(PATH, disk=disk, clock=lambda: 4_000) as log:
        log.append([note(1)])
        assert [log.time_of(1), log.time_of(2)] == [5_000, 5_000]
        assert [log.seq_at(4_999), log.seq_at(5_000)] == [0, 2]


def test_seq_at_and_time_of_agree_over_many_segments() -> None:
    disk = SimulatedDisk()
    with open_log(disk, segment_bytes=400) as log:
        for number in range(30):
            log.append([note(number)], durability="unsafe")
    with open_log(disk) as log:
        for seq in range(1, 31):
            assert log.seq_at(log.time_of(seq)) == seq
            assert log.seq_at(log.time_of(seq) - 1) == seq - 1


def test_the_chain_at_any_seq_commits_to_everything_before() -> None:
    def chain(events: list[Draft]) -> bytes:
        log = SegmentLog.open(PATH, disk=SimulatedDisk(), clock=lambda: 1)
        log.append(events)
        return log.chain_at(len(events))

    assert chain(notes(0, 3)) != chain([note(0, text="other"), *notes(1, 2)])


def test_a_log_reopened_many_times_is_one_log() -> None:
    disk = SimulatedDisk()
    for number in range(25):
        with open_log(disk, segment_bytes=1_000) as log:
            assert log.append([note(number)], expect=number) == [number + 1]
    with open_log(disk) as log:
        assert all_numbers(log) == list(range(25))
        assert log.verify_chain() == []
        assert log.status().recovered == ()


def test_an_index_survives_its_stored_form() -> None:
    index = SegmentIndex()
    ids = [bytes([n]) * 16 for n in (9, 3, 7)]
    places = [Place(128 + n * 200, 10 + n, id_, "memory.forgotten", 1 + n % 2) for n, id_ in enumerate(ids)]
    index.put(0, places)
    again = SegmentIndex.decode(index.encode(), 3)
    assert (list(again.offsets), list(again.times)) == ([128, 328, 528], [10, 11, 12])
    assert again.types(3) == {("memory.forgotten", 1): 2, ("memory.forgotten", 2): 1}
    assert again.id_range() == (ids[1], ids[0])
    assert again.find(ids) == again.find_sealed(ids) == {ids[0]: 0, ids[1]: 1, ids[2]: 2}
    assert again.find_sealed([bytes(16), b"\xff" * 16]) == {}
