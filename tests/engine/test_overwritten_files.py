"""A backup that is copied over an open store in place (`cp -a`), and what others write there afterwards.

The files stay the same files and may become as long as before, or longer. A process that knew what stood in them must
not write, cut or erase by what it knew, nor answer from it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.events.errors import LogReplaced
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


def copied_over(backup: Path, folder: Path) -> None:
    """As `cp -a backup/. folder/` does: every file keeps its inode."""
    for path in backup.rglob("*"):
        target = folder / path.relative_to(backup)
        if path.is_file():
            target.write_bytes(path.read_bytes())


def bytes_under(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def segment_of(folder: Path) -> Path:
    (segment,) = (folder / "log").glob("*.seg")
    return segment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def old(open_memory: Open, folder: Path) -> Memory:
    """A process with ten events more than the backup that was copied over its files."""
    with open_memory() as first:
        first.remember("early", id="e")
    shutil.copytree(folder, folder.with_name("backup"))
    memory = open_memory()
    for n in range(10):
        memory.remember(f"late note {n}", id=f"l{n}")
    copied_over(folder.with_name("backup"), folder)
    return memory


# how much longer than before the file becomes: just as long, within one frame, and by many events
@pytest.mark.parametrize("texts", [10 * ["LATE NOTE %d"], ["x" * 9_000], 30 * ["LATE NOTE %d"]], ids=len)
@pytest.mark.parametrize("last", ["close", "write", "read", "erase", "checkpoint"])
def test_what_others_wrote_after_a_backup_was_copied_over_an_open_store_stays_byte_for_byte(
    old: Memory, open_memory: Open, folder: Path, texts: list[str], last: str
):
    before = old.store.log.status().bytes
    with open_memory() as other:
        for n, text in enumerate(texts):
            other.remember(text.replace("%d", str(n)), id=f"o{n}")
    assert segment_of(folder).stat().st_size >= before
    held = bytes_under(folder)
    if last != "close":
        ask: dict[str, Callable[[], object]] = {
            "write": lambda: old.remember("more"),
            "read": lambda: old.recall("late note", record=False),
            "erase": lambda: old.erase("l2"),
            "checkpoint": old.store.checkpoint,
        }
        with pytest.raises(LogReplaced, match=f"{segment_of(folder).name}.*Open the store again"):
            ask[last]()
    old.close()
    assert bytes_under(folder) == held
    found = doctor(folder)
    assert (found.healthy, found.problems) == (True, ())
    with open_memory() as again:
        assert {one.id for one in again.memories()} == {"e"} | {f"o{n}" for n in range(len(texts))}
        assert again.verify().exact


def test_a_process_that_knows_no_more_than_the_backup_goes_on_in_it(open_memory: Open, folder: Path):
    memory = open_memory()
    memory.remember("early", id="e")
    shutil.copytree(folder, folder.with_name("backup"))
    copied_over(folder.with_name("backup"), folder)
    with open_memory() as other:
        other.remember("later", id="o")
    memory.remember("more", id="m")
    assert {one.id for one in memory.memories()} == {"e", "o", "m"}
    assert memory.verify().exact
