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


def beside_async(memory: Memory, told: Callable[[], None], stop: threading.Event) -> None:
    """A server's program."""
    AsyncMemory(memory, owner=False)
    told()
    assert stop.wait(WAIT_S)


def beside_watch(memory: Memory, told: Callable[[], None], stop: threading.Event) -> None:
    """A watcher, in which nothing changes; it is looked in on before it has run for long."""
    assert memory.store.folder is not None
    notes = memory.store.folder.parent / "notes"
    notes.mkdir()
    threading.Thread(target=told).start()
    memory.watch(notes, stop=stop, every=WAIT_S)


@pytest.mark.parametrize("stays", [beside_async, beside_watch])
def test_a_program_that_stays_checkpoints_what_came_in_little_by_little(
    open_memory: Open,
    monkeypatch: pytest.MonkeyPatch,
    stays: Callable[[Memory, Callable[[], None], threading.Event], None],
):
    monkeypatch.setattr(checkpointing, "_PAUSE_S", 0.0)
    monkeypatch.setattr(checkpointing, "_LOOK_S", 0.001)
    monkeypatch.setattr(checkpointing, "_EVENTS_AT_ONCE", 10**9)
    memory, save = open_memory(), checkpoints.save
    told, saved, stop = threading.Event(), threading.Event(), threading.Event()
    due, by = memory.store.checkpointer.due, set[str]()
    monkeypatch.setattr(memory.store.checkpointer, "due", lambda: told.is_set() and due())

    def noted(*given: object, **options: object) -> object:
        path = save(*given, **options)  # type: ignore[arg-type]
        by.add(threading.current_thread().name)
        saved.set()
        stop.set()
        return path

    def tell() -> None:
        for note in NOTES:
            memory.forget(memory.remember(note["content"]))
        told.set()  # what was told asks no more whether a checkpoint is due
        if not saved.wait(WAIT_S):
            stop.set()

    monkeypatch.setattr(checkpoints, "save", noted)
    stays(memory, tell, stop)
    assert (saved.is_set(), by) == (True, {"recollect-checkpoints"})
    assert memory.store.checkpointer.last_error is None


def test_a_checkpoint_holds_nothing_that_a_power_cut_could_take(open_memory: Callable[..., Memory]):
    memory = open_memory()
    memory.remember("tea")
    memory.recall("tea")
    assert memory.status().unsynced_bytes > 0
    memory.store.checkpoint()
    assert memory.status().unsynced_bytes == 0
