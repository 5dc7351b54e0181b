"""Dreaming by the clock."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import islice

from recollect.memory import Memory
from recollect.scheduled import keep_dreaming, schedule_of

HOUR = 3_600_000_000


def test_it_dreams_once_per_interval_and_only_when_something_is_new(memory, clock):
    def sleep(seconds: float) -> None:
        clock.now += round(seconds * 1_000_000)
        if clock.now > end:
            memory.remember(f"something new at {clock.now}")

    memory.remember("auth sessions live in Postgres")
    begun, end = clock.now, clock.now + 60 * HOUR
    dreams = keep_dreaming(memory, schedule_of(24 * HOUR), sleep=sleep)
    first, second = islice(dreams, 2)
    assert first.id != second.id
    gap = memory.store.log.time_of(int(second.id[1:])) - memory.store.log.time_of(int(first.id[1:]))
    assert memory.store.log.time_of(int(first.id[1:])) - begun >= 24 * HOUR
    assert gap > 35 * HOUR  # a day after the first nothing was new, so it waited for the next memory


def test_the_command_stays_until_it_is_interrupted_and_says_so(tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth sessions live in Postgres")
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "dream", "--every", "1s", "--json",
         "--store", str(tmp_path), "--embedder", "hash"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with Memory.open(tmp_path, embedder="hash") as memory:
            if memory.status().last_dream:
                break
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=30)
    assert '"committed": true' in shown
    assert "every dream shown is written" in said
    assert process.returncode == 0
