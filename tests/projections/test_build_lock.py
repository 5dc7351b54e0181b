"""A shard is built once, however many processes and threads miss it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from recollect.projections.vectors.build_lock import build_lock

HOLD = """
import sys
from pathlib import Path
from recollect.projections.vectors.build_lock import build_lock
with build_lock(Path(sys.argv[1]), "block", wait=False) as alone:
    print(alone, flush=True)
    sys.stdin.readline()
"""


def held_elsewhere(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


@pytest.mark.parametrize("killed", [False, True])
def test_only_one_process_builds_at_a_time_and_another_can_afterwards(tmp_path: Path, killed: bool):
    other = held_elsewhere(tmp_path)
    with build_lock(tmp_path, "block", wait=False) as alone:
        assert not alone
    with build_lock(tmp_path, "another", wait=False) as alone:
        assert alone
    if killed:
        other.kill()
    other.communicate("\n")
    with build_lock(tmp_path, "block", wait=False) as alone:
        assert alone
    assert list(tmp_path.iterdir()) == []


def test_threads_that_wait_come_one_after_the_other(tmp_path: Path):
    inside, most = [], []

    def work() -> None:
        with build_lock(tmp_path, "block", wait=True) as alone:
            assert alone
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8
    assert list(tmp_path.iterdir()) == []


def test_waiting_for_the_lock_can_be_stopped(tmp_path: Path):
    other, stop = held_elsewhere(tmp_path), threading.Event()
    stop.set()
    with build_lock(tmp_path, "block", wait=True, stop=stop) as alone:
        assert not alone
    other.communicate("\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_in_a_folder_that_cannot_be_written_everyone_builds(tmp_path: Path):
    tmp_path.chmod(0o500)
    with build_lock(tmp_path, "block", wait=True) as alone:
        assert alone
    tmp_path.chmod(0o700)


def test_where_no_lock_file_can_be_made_everyone_builds(tmp_path: Path):
    (tmp_path / "file").touch()
    for _ in range(2):
        with build_lock(tmp_path / "file", "block", wait=True) as alone:
            assert alone


def test_a_lock_is_free_again_after_an_interruption_while_it_is_given_back(tmp_path: Path, monkeypatch):
    def interrupted(_: Path) -> None:
        raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        monkeypatch.context() as patched,
        build_lock(tmp_path, "block", wait=True),
    ):
        patched.setattr(Path, "unlink", interrupted)
    with build_lock(tmp_path, "block", wait=False) as alone:
        assert alone


def test_after_waiting_longer_than_any_build_takes_a_process_builds_without_the_lock(
    tmp_path: Path, monkeypatch
):
    monkeypatch.setattr("recollect.projections.vectors.build_lock._PATIENCE_SECONDS", 0.05)
    with build_lock(tmp_path, "block", wait=True), build_lock(tmp_path, "block", wait=True) as alone:
        assert alone
    assert list(tmp_path.iterdir()) == []
