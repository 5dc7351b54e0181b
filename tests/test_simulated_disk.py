"""The simulated disk loses what was not synced, and nothing else."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from simulated_disk import PowerCut, SimulatedDisk

from recollect.events.disk import Disk, RealDisk, read_whole, synced_directory, write_new

FOLDER = Path("/folder")
FILE = FOLDER / "file"


@pytest.fixture
def disk() -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_directories(FOLDER)
    return disk


def outcomes(disk: SimulatedDisk, path: Path = FILE) -> set[bytes | None]:
    return {disk.crash(seed).files().get(path) for seed in range(200)}


def synced_file(disk: SimulatedDisk, content: bytes) -> int:
    with synced_directory(disk, FOLDER):
        write_new(disk, FILE, content)
    return disk.open(FILE)


def test_synced_bytes_survive_every_crash(disk: SimulatedDisk) -> None:
    synced_file(disk, b"kept")
    assert outcomes(disk) == {b"kept"}


def test_an_unsynced_write_is_lost_kept_or_garbled(disk: SimulatedDisk) -> None:
    disk.write(synced_file(disk, b"old!"), b"new!", 0)
    found = outcomes(disk)
    assert {b"old!", b"new!"} < found
    assert len(found) > 2


def test_pieces_of_a_large_write_are_lost_independently(disk: SimulatedDisk) -> None:
    disk.write(synced_file(disk, bytes(8192)), b"\x01" * 8192, 0)
    found = outcomes(disk)
    assert any(data and data[:64] == bytes(64) and data[-64:] == b"\x01" * 64 for data in found)
    assert any(data and data[-64:] == bytes(64) and data[:64] == b"\x01" * 64 for data in found)


def test_an_unsynced_truncation_may_come_undone(disk: SimulatedDisk) -> None:
    disk.truncate(synced_file(disk, b"12345678"), 4)
    assert outcomes(disk) == {b"1234", b"12345678"}


def test_a_file_whose_directory_was_not_synced_may_be_gone(disk: SimulatedDisk) -> None:
    write_new(disk, FILE, b"synced")
    assert outcomes(disk) == {None, b"synced"}


def test_unsynced_renames_and_removals_may_come_undone(disk: SimulatedDisk) -> None:
    synced_file(disk, b"x")
    disk.rename(FILE, FOLDER / "other")
    assert outcomes(disk) == {None, b"x"}
    assert outcomes(disk, FOLDER / "other") == {None, b"x"}


def test_one_seed_gives_one_outcome(disk: SimulatedDisk) -> None:
    disk.write(synced_file(disk, bytes(500)), b"\x02" * 500, 0)
    assert disk.crash(5).files() == disk.crash(5).files()


def test_a_cut_disk_does_nothing_more(disk: SimulatedDisk) -> None:
    disk.cut_at(1)
    for _ in range(2):
        with pytest.raises(PowerCut):
            disk.names(FOLDER)


def test_a_full_disk_takes_half_of_a_write(disk: SimulatedDisk) -> None:
    descriptor = synced_file(disk, b"")
    disk.fail_at(1, errno.ENOSPC)
    with pytest.raises(OSError, match="No space left"):
        disk.write(descriptor, b"abcdefgh", 0)
    assert disk.files()[FILE] == b"abcd"


@pytest.mark.parametrize("kind", ["simulated", "real"])
def test_both_disks_answer_alike(kind: str, tmp_path: Path) -> None:
    disk: Disk = SimulatedDisk() if kind == "simulated" else RealDisk()
    folder = tmp_path / "a" / "b"
    assert disk.names(folder) == []
    disk.make_directories(folder)
    disk.make_directories(folder)
    write_new(disk, folder / "x", b"0123456789")
    with pytest.raises(FileExistsError):
        disk.create(folder / "x")
    with pytest.raises(FileNotFoundError):
        disk.open(folder / "y")
    descriptor = disk.open(folder / "x")
    assert (disk.read(descriptor, 4, 8), disk.read(descriptor, 4, 20), disk.size(descriptor)) == (
        b"89",
        b"",
        10,
    )
    disk.write(descriptor, b"AB", 11)
    disk.truncate(descriptor, 12)
    assert disk.read(descriptor, 99, 0) == b"0123456789\0A"
    other = disk.open(folder / "x", write=False)
    assert (disk.try_lock(descriptor), disk.try_lock(other)) == (True, False)
    disk.unlock(descriptor)
    assert disk.try_lock(other)
    disk.close(other)
    assert disk.try_lock(descriptor)
    disk.rename(folder / "x", folder / "z")
    assert disk.names(folder) == ["z"]
    disk.remove(folder / "z")
    assert (disk.names(folder), read_whole(disk, folder / "z")) == ([], None)
    disk.close(descriptor)
