"""A store saves its projections while it is open: what a killed process leaves need not all be folded again."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine import checkpointing
from recollect.interfaces.python.async_memory import AsyncMemory
from recollect.interfaces.python.memory import Memory
from recollect.projections import checkpoints

Open = Callable[..., Memory]
WAIT_S = 60.0
NOTES = [{"content": f"note {n}", "id": f"n{n}"} for n in range(20)]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty events are many."""
    monkeypatch.setattr(checkpointing, "_EVENTS_MIN", 10)
    monkeypatch.setattr(checkpointing, "_EVENTS_AT_ONCE", 20)


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_bulk_write_is_checkpointed_before_the_store_is_closed(open_memory: Open):
    memory = open_memory()
    memory.remember_many(NOTES)
    assert memory.status().checkpoint_age_events == 0
    after_a_kill = open_memory()
    assert after_a_kill.store.checkpoint_age_events == 0
    asked = [one.recall("note 3", record=False, now="2030-01-01").hits for one in (memory, after_a_kill)]
    assert asked[0] == asked[1]


def test_a_checkpoint_that_fails_costs_no_write_and_stands_in_the_status(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    memory = open_memory()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save", full)
        assert len(memory.remember_many(NOTES)) == 20
        (note,) = [note for note in memory.status().degraded if "checkpoint" in note]
        assert "No space left on device" in note
    monkeypatch.setattr(checkpointing, "_PAUSE_S", 0.0)
    memory.store.checkpointer._cost_s = 0.0
    memory.remember("one more")
    assert memory.status().degraded == ()
    assert list((tmp_path / "store/cache/checkpoints").iterdir())


def test_a_program_that_stays_checkpoints_what_came_in_little_by_little(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpointing, "_PAUSE_S", 0.0)
    monkeypatch.setattr(checkpointing, "_LOOK_S", 0.001)
    monkeypatch.setattr(checkpointing, "_EVENTS_AT_ONCE", 10**9)
    memory, saved, save = open_memory(), threading.Event(), checkpoints.save

    def noted(*given: object, **options: object) -> object:
        path = save(*given, **options)  # type: ignore[arg-type]
        saved.set()
        return path

    monkeypatch.setattr(checkpoints, "save", noted)
    AsyncMemory(memory, owner=False)
    for note in NOTES:
        memory.forget(memory.remember(note["content"]))
    assert saved.wait(WAIT_S)
    assert memory.store.checkpointer.last_error is None


def test_a_checkpoint_holds_nothing_that_a_power_cut_could_take(open_memory: Callable[..., Memory]):
    memory = open_memory()
    memory.remember("tea")
    memory.recall("tea")
    assert memory.status().unsynced_bytes > 0
    memory.store.checkpoint()
    assert memory.status().unsynced_bytes == 0
