"""One write by a machine whose clock stood ten years ahead: refused from then on, told, corrected, and over."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.engine.dream_schedule import Dreams, schedule_of
from recollect.engine.log_stream import select
from recollect.engine.moments import to_datetime
from recollect.events.clock import ClockAhead
from recollect.events.disk import RealDisk
from recollect.events.errors import InvalidInput, RecollectError
from recollect.events.facts import ClockCorrected
from recollect.interfaces.python.memory import Memory

HOUR = 3_600_000_000
DAY = 24 * HOUR
TEN_YEARS = 3_652 * DAY


class Machine:
    """This machine's clock, which may run ahead."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return time.time_ns() // 1_000 + self.ahead


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def ran_ahead(tmp_path: Path, machine: Machine) -> Path:
    """A store written a week ago, with a recall; one memory and a dream in ten years."""
    path = tmp_path / "store"
    with Memory.open(path, embedder="hash", clock=machine) as memory:
        machine.ahead = -7 * DAY
        memory.remember(
            "tea is kept in the blue tin", id="tea", expires_at=to_datetime(machine() + 365 * DAY)
        )
        memory.recall("where is the tea")
        machine.ahead = TEN_YEARS
        memory.remember("coffee is kept in the jar", id="coffee")
        memory.dream()
        machine.ahead = 0
    return path


def command(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The real command, without a helper of its own."""
    code = "import sys; from recollect.interfaces.cli.app import main; main()"
    environment = {
        **os.environ,
        "RECOLLECT_STORE": str(path),
        "RECOLLECT_EMBEDDER": "hash",
        "RECOLLECT_NO_DAEMON": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def hits(path: Path, *arguments: str) -> set[str]:
    ran = command(path, "recall", "what is kept where", "--no-record", "--json", *arguments)
    assert ran.returncode == 0, ran.stderr
    return {hit["id"] for hit in json.loads(ran.stdout)["hits"]}


def test_a_write_is_refused_in_one_line_that_names_both_ways_out(ran_ahead: Path):
    ran = command(ran_ahead, "remember", "milk is in the fridge")
    assert ran.returncode != 0
    (line,) = ran.stderr.strip().splitlines()
    assert "days ahead of this machine's clock" in line
    assert "Correct this machine's clock or, if it is right, let `recollect doctor --fix`" in line
    with Memory.open(ran_ahead, embedder="hash") as memory:
        assert {memo.id for memo in memory.memories()} == {"tea", "coffee"}


def test_a_wider_bound_can_be_set_in_the_environment(ran_ahead: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RECOLLECT_CLOCK_AHEAD", "4000d")
    assert command(ran_ahead, "remember", "milk is in the fridge").returncode == 0
    monkeypatch.setenv("RECOLLECT_CLOCK_AHEAD", "ten years")
    with pytest.raises(InvalidInput, match="'ten years' is not an interval"):
        Memory.open(ran_ahead, embedder="hash")


def test_reading_goes_on_as_if_the_write_had_happened_now(ran_ahead: Path, machine: Machine):
    with Memory.open(ran_ahead, embedder="hash", clock=machine) as memory:
        assert {hit.id for hit in memory.recall("kept", record=False).hits} == {"tea", "coffee"}
        head = memory.at(f"@{memory.status().head}")
        assert {hit.id for hit in head.recall("kept").hits} == {"tea", "coffee"}  # not expired in ten years
        assert {hit.id for hit in memory.at("now").recall("kept").hits} == {"tea", "coffee"}
        assert {hit.id for hit in memory.at("1 day ago").recall("kept").hits} == {"tea"}


def test_a_recall_that_cannot_be_recorded_answers_and_says_so(ran_ahead: Path, machine: Machine):
    with Memory.open(ran_ahead, embedder="hash", clock=machine) as memory:
        answer = memory.recall("kept")
        assert answer.id is None
        assert {hit.id for hit in answer.hits} == {"tea", "coffee"}
        assert any("ahead of this machine's clock" in note for note in answer.degraded)


def test_status_and_doctor_tell_how_far_ahead_and_since_when(ran_ahead: Path, machine: Machine):
    with Memory.open(ran_ahead, embedder="hash", clock=machine) as memory:
        (line,) = memory.status().degraded
        assert "3,651 days ahead of this machine's clock" in line
        first = next(event.seq for event in memory.history("coffee"))
    before = {path: path.read_bytes() for path in ran_ahead.rglob("*") if path.is_file()}
    (problem,) = doctor(ran_ahead).problems
    assert (problem.severity, problem.where) == ("clock", f"@{first}")
    assert "3,651 days ahead" in problem.what
    assert "doctor --fix" in problem.remedy
    assert before == {path: path.read_bytes() for path in ran_ahead.rglob("*") if path.is_file()}


def test_where_nothing_can_be_written_the_doctor_only_tells(ran_ahead: Path, monkeypatch: pytest.MonkeyPatch):
    plain = RealDisk.open

    def open_(disk: RealDisk, path: Path, *, write: bool = True, create: bool = False) -> int:
        if write or create:
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return plain(disk, path, write=False)

    monkeypatch.setattr(RealDisk, "open", open_)
    found = doctor(ran_ahead, fix=True)
    assert [problem.severity for problem in found.problems] == ["clock"]
    assert found.fixed == ()


def test_a_store_within_the_bound_is_healthy(tmp_path: Path, machine: Machine):
    machine.ahead = 23 * HOUR
    with Memory.open(tmp_path / "store", embedder="hash", clock=machine) as memory:
        memory.remember("tea is kept in the blue tin")
        machine.ahead = 0
        assert memory.status().degraded == ()
        memory.remember("coffee is kept in the jar")
    assert doctor(tmp_path / "store", fix=True).fixed == ()


def test_doctor_corrects_it_and_everything_goes_by_the_true_time_again(ran_ahead: Path):
    ran = command(ran_ahead, "doctor", "--fix")
    assert ran.returncode == 0, ran.stdout
    assert "fixed  recorded time ran ahead" in " ".join(ran.stdout.split("\n"))
    assert doctor(ran_ahead).healthy

    assert command(ran_ahead, "remember", "milk is in the fridge", "--id", "milk").returncode == 0
    assert hits(ran_ahead, "--at", "now") == {"tea", "coffee", "milk"}
    with Memory.open(ran_ahead, embedder="hash") as memory:
        facts = {event.seq: event for event in memory.store.log.read()}
        (seq,) = [seq for seq, event in facts.items() if isinstance(event.fact, ClockCorrected)]
        fact = facts[seq].fact
        assert isinstance(fact, ClockCorrected)
        assert facts[fact.first].at - fact.at > TEN_YEARS - HOUR  # the past is as it was recorded
        assert memory.store.log.time_of(memory.status().head) < time.time_ns() // 1_000
        assert memory.status().degraded == ()
        (told,) = memory.log(type="log.clock_corrected")
        assert "set back from 20" in told.summary
        assert {hit.id for hit in memory.at("1 day ago").recall("kept").hits} == {"tea"}
        for at in (
            fact.first,
            seq - 1,
            seq,
            memory.status().head,
        ):  # asked by the true time: tea has not expired
            assert "tea" in {hit.id for hit in memory.at(at).recall("tea").hits}


def test_old_recalls_replay_bit_for_bit_before_and_after_the_correction(ran_ahead: Path, tmp_path: Path):
    assert doctor(ran_ahead, fix=True).healthy
    with Memory.open(ran_ahead, embedder="hash") as memory:
        memory.recall("where is the coffee")
        report = memory.verify()
        assert (report.checked, report.exact) == (2, True)
        assert memory.verify(independent=True).exact
        fork = tmp_path / "fork"
        memory.fork(fork)
        memory.export(tmp_path / "export.jsonl")
        with Memory.open(tmp_path / "imported", embedder="hash") as imported:
            imported.import_(tmp_path / "export.jsonl")
    for copy in (fork, tmp_path / "imported"):
        assert doctor(copy).healthy
        with Memory.open(copy, embedder="hash") as again:
            assert again.verify().exact
            assert {hit.id for hit in again.at("1 day ago").recall("kept").hits} == {"tea"}
            again.remember("milk is in the fridge")
            assert len(again.at("now").recall("kept fridge").hits) == 3


def test_the_next_dream_is_due_an_interval_after_the_correction(ran_ahead: Path, machine: Machine):
    told: list[RecollectError | None] = []
    with Memory.open(ran_ahead, embedder="hash", clock=machine) as memory:
        dreams = Dreams(memory, schedule_of(DAY), told.append)
        assert dreams.look() is None
        assert isinstance(told[0], ClockAhead)  # a server says why it does not dream
        assert memory.doctor(fix=True).healthy
        memory.remember("milk is in the fridge")
        machine.ahead = 23 * HOUR
        assert dreams.look() is None
        machine.ahead = 25 * HOUR
        report = dreams.look()
        assert report is not None
        assert report.committed
        assert told[1:] == [None]


def test_a_store_in_memory_is_corrected_too(machine: Machine):
    with Memory.open(":memory:", embedder="hash", clock=machine) as memory:
        machine.ahead = TEN_YEARS
        memory.remember("coffee is kept in the jar")
        machine.ahead = 0
        with pytest.raises(ClockAhead):
            memory.remember("milk is in the fridge")
        assert memory.doctor(fix=True).healthy
        memory.remember("milk is in the fridge")
        assert len(memory.at("now").memories()) == 2


def test_a_stream_until_tomorrow_is_not_over_because_a_clock_ran_ahead(ran_ahead: Path, machine: Machine):
    with Memory.open(ran_ahead, embedder="hash", clock=machine) as memory:
        tomorrow = to_datetime(machine() + DAY)
        selection = select(memory.store, until=tomorrow, follow=True)
        head = memory.store.log.head
        assert not selection.is_over(memory.store.log, head, machine())
        assert selection.is_over(memory.store.log, head, machine() + 2 * DAY)
