"""A store that was salvaged knows what the damaged one knew beside its log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.configuration import configured
from recollect.engine.copies import known_copies, unknown_copies
from recollect.engine.doctor import doctor
from recollect.engine.salvage import Salvage
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


@pytest.fixture
def folder(open_memory: Open, tmp_path: Path) -> Path:
    """Nine memories, two exports (after five of them, after all), and the seventh damaged."""
    with open_memory() as memory:
        memory.remember_many([{"content": f"note {n} about tea", "id": f"n{n}"} for n in range(5)])
        memory.export(tmp_path / "early.jsonl")
        for n in range(5, 9):
            memory.remember(f"note {n} about tea", id=f"n{n}")
        memory.export(tmp_path / "late.jsonl")
    (segment,) = (tmp_path / "store/log").glob("*.seg")
    segment.write_bytes(segment.read_bytes().replace(b"note 6 about tea", b"note 6 about pea"))
    return tmp_path / "store"


def salvaged(folder: Path, target: Path) -> Salvage:
    saved = doctor(folder, salvage=target).salvaged
    assert saved is not None
    return saved


def test_an_erasure_in_a_salvaged_store_lists_the_copies_of_the_damaged_one_and_itself(
    folder: Path, tmp_path: Path
):
    assert salvaged(folder, tmp_path / "new").degraded == ()
    with Memory.open(tmp_path / "new", embedder=None) as memory:
        report = memory.erase("n2")
    assert [(Path(copy.path).name, copy.kind) for copy in report.copies] == [
        ("early.jsonl", "jsonl"),
        ("late.jsonl", "jsonl"),
        ("store", "damaged store"),
    ]


def test_copies_that_go_beyond_what_was_salvaged_bear_no_witness_against_it(folder: Path, tmp_path: Path):
    saved = salvaged(folder, tmp_path / "new")
    known = {Path(copy.path).name: copy for copy in known_copies(tmp_path / "new")}
    assert (known["early.jsonl"].diverged, known["late.jsonl"].diverged) == (False, True)
    assert known["late.jsonl"].upto == saved.head
    assert doctor(tmp_path / "new").healthy


def test_what_cannot_be_read_of_the_record_is_taken_along_and_told(folder: Path, tmp_path: Path):
    with (folder / "copies").open("ab") as file:
        file.write(b'{"of a newer": "program"}\n')
    (note,) = salvaged(folder, tmp_path / "new").degraded
    assert str(folder / "copies") in note
    assert "1 of its lines cannot be read" in (unknown_copies(tmp_path / "new") or "")


def test_the_settings_are_taken_along_and_branches_are_named(folder: Path, tmp_path: Path):
    (folder / "config.toml").write_text('project = "shop"\n')
    (folder / "branches/4-1a2b3c4d/log").mkdir(parents=True)
    (note,) = salvaged(folder, tmp_path / "new").degraded
    assert configured(tmp_path / "new")["project"].value == "shop"
    assert "4-1a2b3c4d" in note
