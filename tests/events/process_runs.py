"""Programs for `test_processes`: each runs in a process of its own, single-threaded, and forks its children.

    python process_runs.py <run> <directory> [<argument>]

A run that finds something wrong ends with a traceback; one that does not prints one line.
"""

from __future__ import annotations

import os
import random
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from log_samples import all_numbers, note, notes

from recollect.events.errors import LogBusy
from recollect.events.segment_log import SegmentLog

_ACK = struct.Struct("<QQ")


def forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


def ended_well(child: int) -> None:
    _, status = os.waitpid(child, 0)
    assert status == 0, f"a child ended with status {status}"


def kill_writers(path: Path, rounds: int) -> str:
    """Kill a writer again and again; whatever it acknowledged over the pipe must be there, at its seq."""
    rng = random.Random(7)
    acknowledged: dict[int, int] = {}
    for turn in range(rounds):
        reading, writing = os.pipe()
        child = forked(lambda turn=turn, writing=writing: write_for_ever(path, turn * 1_000_000, writing))
        os.close(writing)
        select.select([reading], [], [], 120.0)
        time.sleep(rng.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as acks:
            data = acks.read()
        acknowledged.update(_ACK.iter_unpack(data[: len(data) // _ACK.size * _ACK.size]))
    with SegmentLog.open(path) as log:
        found = {
            int.from_bytes(recorded.id, "big") - 1: recorded.seq
            for recorded in log.read()
            if recorded.actor == ""
        }
        assert log.status().damage is None
        assert log.verify_chain() == []
        all_numbers(log)
        wrong = {number: seq for number, seq in acknowledged.items() if found.get(number) != seq}
        assert wrong == {}, f"acknowledged and not there: {wrong}"
        assert len(acknowledged) > rounds
        return f"{len(acknowledged)} acknowledged, {log.head} there"


def write_for_ever(path: Path, first: int, acks: int) -> None:
    log = SegmentLog.open(path, segment_bytes=20_000)
    while True:
        count = 1 + first % 7
        seqs = log.append(notes(first, count))
        os.write(acks, b"".join(_ACK.pack(first + place, seq) for place, seq in enumerate(seqs)))
        first += count


def write_together(path: Path, appends: int) -> str:
    """Four processes append at once, each event offered by two of them."""

    def work(order: int) -> None:
        with SegmentLog.open(path, segment_bytes=30_000) as log:
            for number in range(order // 2 * appends, order // 2 * appends + appends):
                (seq,) = log.append([note(number)], durability="durable" if number % 10 == 0 else "unsafe")
                assert log.get(seq).fact == note(number).fact

    for child in [forked(lambda order=order: work(order)) for order in range(4)]:
        ended_well(child)
    with SegmentLog.open(path) as log:
        assert sorted(all_numbers(log)) == list(range(2 * appends))
        assert log.verify_chain() == []
        return f"{log.head} events"


def write_after_fork(path: Path, _: int) -> str:
    """A log opened before a fork works in parent and child, at the same time."""
    log = SegmentLog.open(path)
    log.append(notes(0, 1))

    def work(first: int) -> None:
        for number in range(first, first + 50):
            log.append([note(number)], durability="unsafe")
        log.sync()

    children = [forked(lambda first=first: work(first)) for first in (100, 200)]
    work(300)
    for child in children:
        ended_well(child)
    log.refresh()
    assert sorted(all_numbers(log)) == [0, *range(100, 150), *range(200, 250), *range(300, 350)]
    assert log.verify_chain() == []
    return f"{log.head} events"


def stop_the_holder(path: Path, _: int) -> str:
    """A writer that is stopped with the lock in its hands makes the others busy, until it is killed."""
    log = SegmentLog.open(path, lock_timeout_s=0.2)
    log.append(notes(0, 1))
    reading, writing = os.pipe()

    def hold() -> None:
        with log._lock.held():
            os.write(writing, b"!")
            os.kill(os.getpid(), signal.SIGSTOP)

    child = forked(hold)
    os.read(reading, 1)
    os.waitpid(child, os.WUNTRACED)
    started_s = time.monotonic()
    with pytest.raises(LogBusy, match=r"for \d+\.\d s"):
        log.append(notes(1, 1))
    waited_s = time.monotonic() - started_s
    assert all_numbers(log) == [0]
    assert SegmentLog.open(path, read_only=True).head == 1
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert log.append(notes(1, 1)) == [2]
    return f"busy after {waited_s:.1f} s"


RUNS = {run.__name__: run for run in (kill_writers, write_together, write_after_fork, stop_the_holder)}

if __name__ == "__main__":
    print(RUNS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))  # noqa: T201
