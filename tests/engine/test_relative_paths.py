"""A store that is named by a relative path stays the same store when the process changes its directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine.copies import known_copies
from recollect.engine.doctor import doctor
from recollect.interfaces.python.memory import Memory

Open = Callable[..., Memory]


@pytest.mark.parametrize("inside", ["same name", "nothing"])
def test_an_open_store_stays_in_its_directory_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    there, elsewhere = tmp_path / "a", tmp_path / "b"
    there.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(there)
    if inside == "same name":
        with Memory.open(str(elsewhere / "s"), embedder=None) as other:
            other.remember("not this one", id="other")
    before = files(elsewhere)
    with Memory.open("s", embedder=None) as memory:
        memory.remember("tea is green", id="tea")
        os.chdir(elsewhere)
        memory.remember("coffee is black", id="coffee")
        assert memory.recall("coffee").hits[0].id == "coffee"
        memory.export(tmp_path / "x.jsonl")
        memory.fork(str(tmp_path / "f"))
        memory.erase(["coffee"])
        assert files(elsewhere) == before
        assert memory.store.folder == there / "s"
    assert {Path(one.path).name for one in known_copies(there / "s")} == {"x.jsonl", "f"}
    assert files(elsewhere) == before
    assert doctor(there / "s").healthy
    with Memory.open(there / "s", embedder=None) as memory:
        assert memory.store.log.head > 0
        assert [one.id for one in memory.recall("tea").hits] == ["tea"]


def test_a_fork_to_a_relative_path_is_made_where_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path)
    with Memory.open("s", embedder=None) as memory:
        memory.remember("tea is green", id="tea")
        memory.fork("f", progress=lambda *_: os.chdir(tmp_path / "b"))
        assert [one.path for one in known_copies(memory.store.folder)] == [str(tmp_path / "f")]
    assert files(tmp_path / "b") == {}


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
