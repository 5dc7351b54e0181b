"""Real processes on a real disk; the programs are in `process_runs`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("process_runs.py")


def run(name: str, path: Path, argument: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), name, str(path), str(argument)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_hundred_killed_writers_lose_nothing_acknowledged(tmp_path: Path) -> None:
    assert "acknowledged" in run("kill_writers", tmp_path / "log", 100)


def test_four_processes_append_at_once_without_gaps_or_doubles(tmp_path: Path) -> None:
    assert run("write_together", tmp_path / "log", 150) == "300 events\n"


def test_a_log_opened_before_a_fork_works_on_both_sides(tmp_path: Path) -> None:
    assert run("write_after_fork", tmp_path / "log") == "151 events\n"


def test_a_stopped_lock_holder_makes_others_busy_and_a_dead_one_does_not(tmp_path: Path) -> None:
    assert "busy after" in run("stop_the_holder", tmp_path / "log")


@pytest.mark.parametrize("depth", [1, 3])
def test_missing_directories_are_made(tmp_path: Path, depth: int) -> None:
    from recollect.events.segment_log import SegmentLog

    path = tmp_path.joinpath(*"abc"[:depth], "log")
    with SegmentLog.open(path) as log:
        assert log.head == 0
    assert path.is_dir()
