"""A copy that may still exist is never forgotten: it is noted where it lies, and left out once it is gone from there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from recollect.engine.copies import known_copies
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


def exported(open_memory: Open, target: Path) -> Memory:
    memory = open_memory()
    memory.remember("auth sessions live in Postgres", id="auth")
    memory.export(target)
    return memory


def listed(memory: Memory, elsewhere: Path) -> list[str]:
    """What an erasure lists after another copy was noted."""
    elsewhere.mkdir(exist_ok=True)
    memory.export(elsewhere / "another.jsonl")
    copies = memory.erase("auth", dry_run=True).copies
    return [one.path for one in copies if not one.path.endswith("another.jsonl")]


def test_a_copy_made_through_a_link_is_listed_where_it_lies_when_the_link_leads_elsewhere(
    open_memory: Open, tmp_path: Path
) -> None:
    for folder in ("v1", "v2"):
        (tmp_path / folder).mkdir()
    link = tmp_path / "current"
    link.symlink_to("v1")
    memory = exported(open_memory, link / "copy.jsonl")
    memory.fork(link / "fork")
    link.unlink()
    link.symlink_to("v2")
    assert listed(memory, tmp_path / "v2") == [str(tmp_path / "v1" / name) for name in ("copy.jsonl", "fork")]


def test_a_copy_stays_listed_while_another_folder_stands_where_its_own_stood(
    open_memory: Open, tmp_path: Path
) -> None:
    disk, away = tmp_path / "disk", tmp_path / "away"
    disk.mkdir()
    memory = exported(open_memory, disk / "copy.jsonl")
    disk.rename(away)
    disk.mkdir()
    assert listed(memory, tmp_path / "out") == [str(disk / "copy.jsonl")]
    disk.rmdir()
    away.rename(disk)
    assert listed(memory, tmp_path / "more") == [str(disk / "copy.jsonl")]


def test_a_copy_at_the_root_of_a_disk_stays_listed_since_another_disk_may_be_there_now(
    open_memory: Open, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    memory = exported(open_memory, tmp_path / "disk/copy.jsonl")
    (tmp_path / "disk/copy.jsonl").unlink()
    with mock.patch.object(Path, "is_mount", lambda path: path.name == "disk"):
        assert listed(memory, tmp_path / "out") == [str(tmp_path / "disk/copy.jsonl")]


def test_a_copy_that_was_deleted_from_its_folder_is_left_out(open_memory: Open, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    memory = exported(open_memory, tmp_path / "out/copy.jsonl")
    memory.fork(tmp_path / "out/fork")
    assert len(known_copies(memory.store.folder)) == 2
    (tmp_path / "out/copy.jsonl").unlink()
    shutil.rmtree(tmp_path / "out/fork")
    assert known_copies(memory.store.folder) == []
