"""Dreaming by the clock."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.cli import main
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


def command(store: Path) -> list[str]:
    return ["dream", "--every", "1s", "--json", "--store", str(store), "--embedder", "hash"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with Memory.open(tmp_path, embedder="hash") as memory:
        memory.remember("auth sessions live in Postgres")
    return tmp_path


def test_the_command_stays_until_it_is_interrupted_and_says_so(store: Path):
    with subprocess.Popen(
        [sys.executable, "-m", "recollect", *command(store)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        shown = ""
        while not shown.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            shown += line
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    dream = json.loads(shown)
    assert dream["committed"] is True
    assert said == f"recollect: stopped; every dream is written, the last at @{dream['head']}\n"
    assert process.returncode == 0


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_dream_that_was_written_but_not_yet_shown_is_told_of(store: Path, monkeypatch):
    monkeypatch.setattr("recollect.cli_dream._show", interrupted)
    result = CliRunner().invoke(main, command(store))
    with Memory.open(store, embedder="hash") as memory:
        last = memory.status().last_dream
    assert last > 0
    assert result.stderr == f"recollect: stopped; every dream is written, the last at @{last}\n"


def test_no_dream_is_claimed_where_none_was_due(store: Path, monkeypatch):
    monkeypatch.setattr("time.sleep", interrupted)
    result = CliRunner().invoke(main, command(store))
    assert (result.stdout, result.stderr) == ("", "recollect: stopped; no dream was written\n")
