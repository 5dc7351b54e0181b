"""Another history that is written over the files of an open log is noticed by the end of what the log knows."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path

import pytest
from log_samples import all_numbers, notes

from recollect.events.disk import RealDisk
from recollect.events.errors import LogFailed, LogReplaced, RecollectError
from recollect.events.segment_log import SegmentLog


def copied_over(backup: Path, path: Path) -> None:
    """As `cp -a backup/. path/` does: every file keeps its inode."""
    for file in backup.iterdir():
        (path / file.name).write_bytes(file.read_bytes())


def failing(*_: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_write_that_failed_is_not_tried_again_onto_another_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After an error the log is loaded from disk again: by what was shown before the failed write."""
    path = tmp_path / "log"
    with SegmentLog.open(path) as log:
        log.append(notes(0, 1))
    shutil.copytree(path, tmp_path / "backup")
    log = SegmentLog.open(path)
    log.append(notes(1, 3))
    with monkeypatch.context() as patch:
        patch.setattr(RealDisk, "sync", failing)
        with pytest.raises(LogFailed):
            log.append(notes(4, 1))
    copied_over(tmp_path / "backup", path)
    with SegmentLog.open(path) as other:
        other.append(notes(10, 6))
    with pytest.raises(LogReplaced):
        log.append(notes(5, 1))
    log.close()
    with SegmentLog.open(path) as again:
        assert all_numbers(again) == [0, *range(10, 16)]


@pytest.mark.parametrize("later", [1, 3, 6])
def test_what_was_read_after_a_write_that_failed_is_known_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: int
):
    """Others write on, and this process reads it; then an older copy is put in place, and is written on from there."""
    path = tmp_path / "log"
    log = SegmentLog.open(path)
    log.append(notes(0, 1))
    with monkeypatch.context() as patch:
        patch.setattr(RealDisk, "sync", failing)
        with pytest.raises(LogFailed):
            log.append(notes(1, 1))
    with SegmentLog.open(path) as other:
        other.append(notes(2, 1))
    shutil.copytree(path, tmp_path / "backup")
    with SegmentLog.open(path) as other:
        other.append(notes(3, 3))
    assert log.refresh() == log.head
    assert all_numbers(log) == [0, 2, 3, 4, 5]
    copied_over(tmp_path / "backup", path)
    with SegmentLog.open(path) as other:
        other.append(notes(10, later))
    with pytest.raises(LogReplaced):
        log.refresh()
    with pytest.raises(LogReplaced):
        log.append(notes(6, 1))
    log.close()
    with SegmentLog.open(path) as again:
        assert all_numbers(again) == [0, 2, *range(10, 10 + later)]


def test_a_sealed_end_of_another_history_is_noticed_too(tmp_path: Path):
    """A segment that is opened when it is sealed already is known by its trailer alone."""
    path = tmp_path / "log"
    with SegmentLog.open(path) as log:
        log.append(notes(0, 1))
    shutil.copytree(path, tmp_path / "backup")
    with SegmentLog.open(path) as log:
        log.append(notes(1, 3))
        log._segments.last.seal()
    reader = SegmentLog.open(path, read_only=True)
    copied_over(tmp_path / "backup", path)
    with SegmentLog.open(path) as other:
        other.append(notes(10, 6))
    with pytest.raises(LogReplaced):
        reader.refresh()


@pytest.mark.parametrize("operation", ["write", "sync", "create"])
def test_a_seal_that_is_taken_off_again_is_no_other_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
):
    """A process that finds the last segment sealed, as after a kill before the next was made, fails to write once."""
    with SegmentLog.open(tmp_path / "log") as log:
        log.append(notes(0, 3))
        log._segments.last.seal()
    log = SegmentLog.open(tmp_path / "log")
    with monkeypatch.context() as patch:
        patch.setattr(RealDisk, operation, failing)
        with pytest.raises(LogFailed):
            log.append(notes(3, 1))
    log._segments.last.truncate(
        log._segments.last.end
    )  # as another process does that fails to make the next one
    assert log.refresh() == log.head
    log.append(notes(4, 1))
    assert all_numbers(log) == [0, 1, 2, 4]
    log.close()


def test_a_reader_beside_a_thread_whose_writes_fail_and_are_taken_back_is_not_told_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = SegmentLog.open(tmp_path / "log")
    log.append(notes(0, 1))
    done, heard = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            try:
                log.refresh()
            except RecollectError as error:
                heard.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    with monkeypatch.context() as patch:
        patch.setattr(RealDisk, "sync", failing)
        for _ in range(100):
            with pytest.raises(LogFailed, match="could not be written"):
                log.append(notes(1, 1))
    done.set()
    reader.join()
    assert heard == []
    log.append(notes(2, 1))
    assert all_numbers(log) == [0, 2]
    log.close()


def test_a_reader_follows_though_the_empty_segment_that_it_found_was_removed_by_a_recovery(tmp_path: Path):
    with SegmentLog.open(tmp_path / "log") as log:
        log.append(notes(0, 1))
        log._segments.last.seal()
        unfinished = log._writer._create_segment(log._segments.last, 0).path
    with unfinished.open("ab") as file:
        file.write(b"the beginning of a frame")
    reader = SegmentLog.open(tmp_path / "log", read_only=True)
    log = SegmentLog.open(tmp_path / "log")
    log.append(notes(1, 1))
    assert not unfinished.exists()
    assert reader.refresh() == log.head
    assert all_numbers(reader) == [0, 1]
    reader.close()
    log.close()
