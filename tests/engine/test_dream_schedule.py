"""Dreaming by the clock."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.dream.report import DreamReport
from recollect.engine import dream
from recollect.engine import dream_schedule as scheduled
from recollect.engine.dream_schedule import Dreams, keep_dreaming, keep_dreaming_beside, schedule_of
from recollect.engine.store import Store
from recollect.events.errors import LogBusy, RecollectError
from recollect.interfaces.cli.app import main
from recollect.interfaces.folders.report import Happened
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.projections.view import View

HOUR = 3_600_000_000


def fail(error: RecollectError | None) -> None:
    raise AssertionError(error)


def test_it_dreams_once_per_interval_and_only_when_something_is_new(memory, clock):
    def sleep(seconds: float) -> None:
        clock.now += round(seconds * 1_000_000)
        if clock.now > end:
            memory.remember(f"something new at {clock.now}")

    memory.remember("auth sessions live in Postgres")
    begun, end = clock.now, clock.now + 60 * HOUR
    dreams = keep_dreaming(memory, schedule_of(24 * HOUR), sleep=sleep, on_failure=fail)
    first, second = islice(dreams, 2)
    assert first.id != second.id
    gap = memory.store.log.time_of(int(second.id[1:])) - memory.store.log.time_of(int(first.id[1:]))
    assert memory.store.log.time_of(int(first.id[1:])) - begun >= 24 * HOUR
    assert gap > 35 * HOUR  # a day after the first nothing was new, so it waited for the next memory


# --- a dream that fails, and one that is overtaken ---------------------------------------------------


@pytest.fixture
def due(memory: Memory, clock) -> Callable[[Callable[[RecollectError | None], None]], Dreams]:
    """Dreams of a store for which it is time."""

    def dreams(on_failure: Callable[[RecollectError | None], None]) -> Dreams:
        memory.remember("auth sessions live in Postgres")
        made = Dreams(memory, schedule_of(HOUR), on_failure)
        clock.now += HOUR
        return made

    return dreams


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let this happen after each dream was dreamt, before it is written."""
    run_phases = dream.run_phases

    def slept(*args: object, **options: object) -> object:
        dreamt = run_phases(*args, **options)
        with monkeypatch.context() as patch:
            patch.setattr(dream, "run_phases", run_phases)
            happens()
        return dreamt

    monkeypatch.setattr(dream, "run_phases", slept)


def test_a_dream_that_another_process_dreamt_meanwhile_is_no_failure(due, open_memory, monkeypatch):
    dreams, other = due(fail), open_memory()
    meanwhile(monkeypatch, other.dream)
    assert dreams.look() is None
    monkeypatch.undo()
    assert len(other.store.projections.adoptions.dreams) == 1
    assert dreams.look() is None  # nothing is new since then


def test_a_dream_succeeds_beside_others_who_write_whenever_they_can(due, open_memory, monkeypatch):
    dreams, other = due(fail), open_memory()
    store, deciding = dreams._memory.store, Store.deciding
    locked: list[bool] = []

    def held(self: Store) -> AbstractContextManager[View]:
        locked.extend([True] if self is store else [])
        return deciding(self)

    monkeypatch.setattr(Store, "deciding", held)
    meanwhile(monkeypatch, lambda: locked or other.remember("something else"))
    assert dreams.look().committed
    assert locked
    assert len(store.projections.adoptions.dreams) == 1


def test_of_two_that_are_due_at_once_one_dreams(due, open_memory, monkeypatch):
    dreams, other = due(fail), open_memory()
    is_due = scheduled.is_due

    def decided_then_overtaken(**given: object) -> bool:
        answer = is_due(**given)
        monkeypatch.setattr(scheduled, "is_due", is_due)
        other.dream()
        return answer

    monkeypatch.setattr(scheduled, "is_due", decided_then_overtaken)
    assert dreams.look() is None
    assert len(other.store.projections.adoptions.dreams) == 1
    assert {memo.state.strength for memo in other.memories()} == {0.95}


def test_a_failure_is_told_once_and_the_next_dream_waits_for_the_next_look(due, memory, clock, monkeypatch):
    told: list[RecollectError | None] = []
    tried: list[int] = []

    def broken(*_: object, **__: object) -> None:
        tried.append(clock.now)
        raise LogBusy("another process holds the lock")

    dreams = due(told.append)
    monkeypatch.setattr(memory, "dream", broken)
    for _ in range(3):
        assert dreams.look() is None
    assert len(tried) == 1
    for _ in range(3):
        clock.now += round(dreams.pause_s * 1_000_000)
        assert dreams.look() is None
    assert len(tried) == 4
    assert [str(error) for error in told] == ["another process holds the lock"]


def test_a_watch_goes_on_when_a_dream_fails(memory, clock, monkeypatch, tmp_path):
    def broken(*_: object, **__: object) -> None:
        clock.now += HOUR
        raise LogBusy("another process holds the lock")

    told: list[Happened] = []

    def tell(happened: Happened) -> None:
        told.append(happened)
        if happened.what == "degraded":
            (tmp_path / "notes" / "b.md").write_text("beta")
        if happened.path == "b.md":
            stop.set()

    stop = threading.Event()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("alpha")
    monkeypatch.setattr(memory, "dream", broken)
    memory.watch(tmp_path / "notes", dream_every="1s", tell=tell, stop=stop)
    assert [one.detail for one in told if one.what == "degraded"] == [
        "a dream failed: another process holds the lock"
    ]
    assert told[-1].path == "b.md"


def test_beside_a_server_a_failure_is_told_until_it_is_over(memory, clock, monkeypatch):
    told: list[RecollectError | None] = []
    dream = memory.dream

    def broken_once(*_: object, **__: object) -> None:
        monkeypatch.setattr(memory, "dream", dream)
        raise LogBusy("another process holds the lock")

    async def dreamt() -> DreamReport:
        async with AsyncMemory(memory, owner=False) as shared:
            found: asyncio.Future[DreamReport] = asyncio.get_running_loop().create_future()
            dreaming = asyncio.create_task(
                keep_dreaming_beside(
                    shared, schedule_of(2_000_000), dreamt=found.set_result, on_failure=told.append
                )
            )
            report = await found
            dreaming.cancel()
            return report

    memory.remember("auth sessions live in Postgres")
    monkeypatch.setattr(memory, "dream", broken_once)
    assert asyncio.run(dreamt()).committed
    assert [error and str(error) for error in told] == ["another process holds the lock", None]


# --- the command -------------------------------------------------------------------------------------


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
        _, said = process.communicate(timeout=120)
    dream = json.loads(shown)
    assert dream["committed"] is True
    assert said == f"recollect: stopped; every dream is written, the last at @{dream['head']}\n"
    assert process.returncode == 0


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_dream_that_was_written_but_not_yet_shown_is_told_of(store: Path, monkeypatch):
    monkeypatch.setattr("recollect.interfaces.cli.dream.show", interrupted)
    result = CliRunner().invoke(main, command(store))
    with Memory.open(store, embedder="hash") as memory:
        last = memory.status().last_dream
    assert last > 0
    assert result.stderr == f"recollect: stopped; every dream is written, the last at @{last}\n"


def test_no_dream_is_claimed_where_none_was_due(store: Path, monkeypatch):
    monkeypatch.setattr("time.sleep", interrupted)
    result = CliRunner().invoke(main, command(store))
    assert (result.stdout, result.stderr) == ("", "recollect: stopped; no dream was written\n")


def test_the_command_tells_of_a_failure_and_stays(store: Path, monkeypatch):
    looks: list[float] = []

    def broken(*_: object, **__: object) -> None:
        raise LogBusy("another process holds the lock")

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr("recollect.engine.dream_schedule.is_due", lambda **_: True)
    monkeypatch.setattr(Memory, "dream", broken)
    result = CliRunner().invoke(main, command(store))
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "recollect: a dream failed and is tried again: another process holds the lock",
        "recollect: stopped; no dream was written",
    ]
