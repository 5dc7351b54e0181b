"""Erasing overwrites the bytes for good and breaks nothing else."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest
from log_samples import StepClock, note, notes
from simulated_disk import PowerCut, SimulatedDisk

from recollect.events import segment_writer
from recollect.events.envelope import Recorded
from recollect.events.erasure import OVERWRITES_MAX, Intent, Overwrite, plan
from recollect.events.errors import LogDamaged, LogFailed
from recollect.events.facts import Ingested, Redacted
from recollect.events.segment_format import SegmentName
from recollect.events.segment_log import SegmentLog

PATH = Path("/log")
SECRET = "the plaintext nobody may find"


def open_log(disk: SimulatedDisk, *, read_only: bool = False) -> SegmentLog:
    return SegmentLog.open(PATH, disk=disk, clock=StepClock(), segment_bytes=900, read_only=read_only)


def with_secrets() -> SimulatedDisk:
    """Nine events in several segments, three of them secret: @2, @5 and @9."""
    disk = SimulatedDisk()
    with open_log(disk) as log:
        for number in range(9):
            log.append([note(number, text=f"{SECRET} {number}" if number + 1 in (2, 5, 9) else None)])
    return disk


def secrets_in(disk: SimulatedDisk) -> list[str]:
    return [path.name for path, data in disk.files().items() if SECRET.encode() in data]


def kinds(events: list[Recorded]) -> list[type]:
    return [type(recorded.fact) for recorded in events]


REDACTED = [Ingested, Redacted, Ingested, Ingested, Redacted, Ingested, Ingested, Ingested, Redacted]


def test_nothing_of_an_erased_payload_is_left_in_any_file() -> None:
    disk = with_secrets()
    assert len(secrets_in(disk)) >= 2
    with open_log(disk) as log:
        log.erase([9, 2, 5])
        assert kinds(list(log.read())) == REDACTED
        assert log.verify_chain() == []
    assert secrets_in(disk) == []
    with open_log(disk) as log:
        assert kinds(list(log.read())) == REDACTED
        assert log.verify_chain() == []
        assert log.append(notes(20, 1)) == [10]


def test_erasing_twice_is_erasing_once() -> None:
    disk = with_secrets()
    with open_log(disk) as log:
        log.erase([2, 5, 9])
        files = disk.files()
        log.erase([2, 2, 9])
        assert {path: data for path, data in disk.files().items() if path.suffix == ".seg"} == {
            path: data for path, data in files.items() if path.suffix == ".seg"
        }


def test_an_intent_names_no_more_overwrites_than_one_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[int] = []
    begin = Intent.begin

    def begun(intent: Intent, overwrites: list[Overwrite]) -> None:
        begin(intent, overwrites)
        named.append(len(intent.pending()))

    monkeypatch.setattr(segment_writer, "OVERWRITES_MAX", 2)
    monkeypatch.setattr(Intent, "begin", begun)
    disk = with_secrets()
    with open_log(disk) as log:
        log.erase([9, 2, 5])
        assert kinds(list(log.read())) == REDACTED
    assert (named, secrets_in(disk)) == ([2, 1], [])


def test_the_longest_intent_is_read_whole() -> None:
    name = str(SegmentName(2**63, 2**32 - 1))
    longest = [Overwrite(2**63 + n, name, 2**63, 2**32 - 1, bytes(4)) for n in range(OVERWRITES_MAX)]
    intent = Intent(with_secrets(), PATH)
    intent.begin(longest)
    assert len(intent.pending()) == OVERWRITES_MAX


def test_erasing_empties_the_quarantine() -> None:
    files = {path: data for path, data in with_secrets().files().items() if path.suffix == ".seg"}
    last = max(files)
    torn = SimulatedDisk.holding({**files, last: files[last] + f"torn {SECRET}".encode()})
    with open_log(torn) as log:
        assert len(log.status().recovered) == 1
        log.erase([2, 5, 9])
        assert log.status().recovered == ()
    assert secrets_in(torn) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_power_cut_at_any_step_leaves_the_payloads_whole_or_gone(seed: int) -> None:
    operation, done = 0, False
    while not done:
        operation += 1
        disk = with_secrets()
        log = open_log(disk)
        disk.cut_at(operation)
        try:
            log.erase([2, 5, 9])
            done = True
            disk.repair()
        except PowerCut:
            disk = disk.crash(seed * 1000 + operation)
        with open_log(disk) as log:
            found = kinds(list(log.read()))
            assert found in ([Ingested] * 9, REDACTED), f"operation {operation}"
            assert log.verify_chain() == []
        if found == REDACTED:
            assert secrets_in(disk) == [], f"operation {operation}"
    assert operation > 10
    assert found == REDACTED


@pytest.mark.parametrize("seq", [2, 9], ids=["sealed", "growing"])
def test_a_half_overwritten_event_reads_as_redacted_while_its_intent_stands(seq: int) -> None:
    disk = with_secrets()
    open_before = open_log(disk, read_only=True)
    log = open_log(disk)
    (overwrite,) = plan(log._segments, [seq])
    Intent(disk, PATH).begin([overwrite])
    disk.write(disk.open(PATH / overwrite.segment), bytes(overwrite.zeros // 2), overwrite.offset)
    expected = [Redacted if number == seq else Ingested for number in range(1, 10)]
    assert kinds(list(open_before.read())) == expected
    assert kinds(list(open_log(disk, read_only=True).read())) == expected
    with open_log(disk) as finished:
        assert kinds(list(finished.read())) == expected
        assert finished.verify_chain() == []
    assert PATH / "erase.intent" not in disk.files()


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 4, b"\x01\x02", crc32(b"\xc1").to_bytes(4, "little") + b"\xc1"],
    ids=["empty", "zeros", "torn", "garbled"],
)  # fmt: skip
def test_an_intent_that_was_not_finished_being_written_is_removed_and_nothing_is_overwritten(
    content: bytes,
) -> None:
    disk = SimulatedDisk.holding({**with_secrets().files(), PATH / "erase.intent": content})
    segments = {path: data for path, data in disk.files().items() if path.suffix == ".seg"}
    assert kinds(list(open_log(disk, read_only=True).read())) == [Ingested] * 9
    with open_log(disk) as log:
        assert kinds(list(log.read())) == [Ingested] * 9
    left = disk.files()
    assert PATH / "erase.intent" not in left
    assert {path: left[path] for path in segments} == segments
    with open_log(disk) as log:
        log.erase([2, 5, 9])
    assert secrets_in(disk) == []


@pytest.mark.parametrize(
    "wrong", [{"offset": 8}, {"offset": -64}, {"offset": 2**40}, {"zeros": 2**40}, {"zeros": 0}, {"seq": 1}], ids=str
)  # fmt: skip
def test_an_intent_overwrites_nothing_but_the_payload_of_its_own_event(
    wrong: dict[str, int],
) -> None:
    disk = with_secrets()
    with open_log(disk) as log:
        planned = plan(log._segments, [2])
    before = disk.files()
    (overwrite,) = planned
    Intent(disk, PATH).begin([overwrite._replace(**wrong)])
    Intent(disk, PATH).finish()
    assert disk.files() == before
    Intent(disk, PATH).begin(planned)
    Intent(disk, PATH).finish()
    assert len(secrets_in(disk)) == len(secrets_in(SimulatedDisk.holding(before))) - 1


def test_a_zeroed_payload_without_a_renewed_checksum_is_damage() -> None:
    disk = with_secrets()
    files = disk.files()
    path = min(path for path in files if path.suffix == ".seg")
    data = files[path]
    at = data.index(SECRET.encode())
    hurt = SimulatedDisk.holding({**files, path: data[:at] + bytes(len(SECRET)) + data[at + len(SECRET) :]})
    with open_log(hurt, read_only=True) as log, pytest.raises(LogDamaged) as caught:
        list(log.read())
    assert caught.value.seq == 2


def test_a_directory_in_the_place_of_an_intent_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with SegmentLog.open(tmp_path) as log:
        log.append(notes(0, 1))
    (tmp_path / "erase.intent").mkdir()
    for read_only in (True, False):
        with pytest.raises(LogFailed, match="it is a directory; move it away"):
            SegmentLog.open(tmp_path, read_only=read_only)
