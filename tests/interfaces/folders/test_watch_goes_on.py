"""A watch that stays goes on when nothing can be written for a while: it says why once, and when that is over."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kept_folder import expected, held, write

from recollect.events.disk import RealDisk
from recollect.events.errors import LogBusy, LogFailed
from recollect.events.facts import Linked
from recollect.interfaces.folders import watcher
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.report import Happened, WatchReport
from recollect.interfaces.python.memory import Memory

WAIT_S = 60.0
HOLDER = """
import sys
from recollect.interfaces.python.memory import Memory
with Memory.open(sys.argv[1], embedder="none") as memory, memory.store.exclusive():
    print("held", flush=True)
    sys.stdin.read()
"""


class Watch:
    """A watch in a thread of its own, and what it told."""

    def __init__(self) -> None:
        self.told: list[Happened] = []
        self.report: WatchReport | None = None

    def said(self, what: str) -> list[Happened]:
        return [one for one in self.told if one.what == what]

    def waits_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, self.told
            assert self.thread.is_alive(), self.told
            time.sleep(0.02)

    @contextmanager
    def following(self, memory: Memory, notes: Path) -> Iterator[None]:
        timing = Timing(settle_s=0, grace_s=0)

        def run() -> None:
            self.report = memory.watch(notes, timing=timing, tell=self.told.append)

        self.thread = threading.Thread(target=run)
        self.thread.start()
        try:
            self.waits_until(lambda: bool(self.said("watching")))
            yield
        finally:
            timing.stop.set()
            self.thread.join()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "_AGAIN_S", 0.05)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A disk with room for so many more writes of the log."""
    room, write_ = {"writes": 1_000_000}, RealDisk.write

    def limited(self: RealDisk, *args: object) -> object:
        room["writes"] -= 1
        if room["writes"] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_(self, *args)

    monkeypatch.setattr(RealDisk, "write", limited)
    return room


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_on_a_full_disk_a_watch_goes_on_and_when_there_is_room_every_note_and_link_is_in(
    memory: Memory, notes: Path, disk: dict[str, int], writes: int
):
    write(notes, {"a.md": "# a\n\nfirst\n", "b.md": "# b\n\nsecond\n"})
    watch = Watch()
    with watch.following(memory, notes):
        for _ in range(2):
            disk["writes"] = writes
            mark, before = str(len(watch.told)), len(watch.said("degraded"))
            write(
                notes, {f"{mark}.md": f"# new\n\n{mark} goes to [[a]]\n", "a.md": f"# a\n\nchanged {mark}\n"}
            )
            watch.waits_until(lambda: len(watch.said("degraded")) > before)  # noqa: B023
            time.sleep(0.3)  # it tries several times
            assert len(watch.said("degraded")) == before + 1
            assert "No space left" in watch.said("degraded")[-1].detail
            disk["writes"] = 1_000_000
            watch.waits_until(lambda: len(watch.said("resumed")) > before)  # noqa: B023
        watch.waits_until(lambda: held(memory, notes) == expected(notes, {".md"}))
    linked = [one for one in memory.store.log.read() if isinstance(one.fact, Linked)]
    assert len(linked) == 2
    assert watch.report is not None
    assert watch.report.degraded == ()


def test_beside_a_process_that_holds_the_log_a_watch_waits_and_takes_the_note_afterwards(
    memory: Memory, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(notes, {"a.md": "first\n"})
    watch = Watch()
    with watch.following(memory, notes):
        monkeypatch.setattr(memory.store.log.base._lock, "_timeout_s", 0.1)
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, tmp_path / "store"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            write(notes, {"b.md": "second\n"})
            watch.waits_until(lambda: bool(watch.said("degraded")))
            time.sleep(0.5)  # it tries several times
            (said,) = watch.said("degraded")
            assert f"process {holder.pid}" in said.detail
            holder.communicate()
        watch.waits_until(lambda: bool(watch.said("resumed")))
        assert held(memory, notes) == expected(notes, {".md"})


def test_a_watch_that_is_stopped_while_the_disk_is_full_ends_and_says_that_it_is_not_done(
    memory: Memory, notes: Path, disk: dict[str, int]
):
    watch = Watch()
    with watch.following(memory, notes):
        disk["writes"] = 0
        write(notes, {"a.md": "first\n"})
        watch.waits_until(lambda: bool(watch.said("degraded")))
    assert watch.report is not None
    assert watch.report.degraded == (
        "stopped before everything was compared; the next run goes on from here",
    )


def test_a_single_comparison_still_fails_on_a_full_disk(memory: Memory, notes: Path, disk: dict[str, int]):
    write(notes, {"a.md": "first\n"})
    disk["writes"] = 0
    with pytest.raises((LogFailed, LogBusy), match="No space left"):
        memory.watch(notes, once=True)
