"""What Recollect writes is for its owner alone, whatever the umask; wider rights of others are told, and left."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.engine.doctor import doctor
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors.sealing import Sealer, SealPolicy


@pytest.fixture(params=[0o000, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def wide(folder: Path) -> dict[str, str]:
    """What does not have exactly its owner's rights."""
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    return {
        str(path.relative_to(folder)): oct(mode)
        for path, mode in modes.items()
        if mode != (0o700 if path.is_dir() else 0o600)
    }


def test_everything_that_is_made_is_private(tmp_path: Path, umask: None):
    root = tmp_path / "new"
    notes = tmp_path / "notes"
    notes.mkdir(mode=0o700)
    notes.chmod(0o700)
    (notes / "a.md").write_text("# Tea\n\ngreen tea")
    (notes / "a.md").chmod(0o600)
    with Memory.open(root / "deep" / "store", embedder="hash") as memory:
        memory.remember_many([{"content": f"note {n} about tea", "id": f"n{n}"} for n in range(12)])
        memory.recall("tea")
        memory.watch(notes, once=True)
        memory.erase("n1")
        sealer = Sealer(
            memory.store.projections.vectors, memory.store._publish_shard, policy=SealPolicy(block=4)
        )
        while sealer.step():
            pass
        memory.dream()
        memory.store.checkpoint()
        memory.fork(root / "forks" / "fork", formula="omega", closed_loop=True)
        memory.export(root / "out" / "log.jsonl")
        memory.export(root / "out" / "tables")
        memory.export(root / "out" / "pages", format="markdown")
        memory.compare("omega", "reverie", html=root / "out" / "report.html")
        assert not any("others may reach" in note for note in memory.status().degraded)
    doctor(root / "deep" / "store", salvage=root / "rescued")
    with Memory.open(root / "forks" / "fork", embedder="hash") as fork:
        fork.recall("tea")
    names = {path.suffix or path.name for path in root.rglob("*")}
    assert names >= {".seg", "head", ".lock", ".checkpoint", ".hnsw", ".jsonl", ".parquet", ".md", ".html"}
    assert wide(root) == {}


def test_everything_in_the_directory_of_packs_is_private(tmp_path: Path, umask: None):
    with Memory.open(f"file://{tmp_path}/packs", embedder="hash") as memory:
        memory.remember("tea")
        memory.dream()
    assert {path.name for path in (tmp_path / "packs").iterdir()} >= {"log", "box"}
    assert wide(tmp_path / "packs") == {}


def test_wider_rights_of_a_directory_are_told_and_left(tmp_path: Path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(0o755)
    with Memory.open(tmp_path / "store", embedder="hash") as memory:
        memory.remember("tea")
        (note,) = memory.status().degraded
    found = doctor(tmp_path / "store")
    assert "others may reach into" in note
    assert "0755" in note
    assert found.notes == (note,)
    assert found.healthy
    assert wide(tmp_path / "store") == {".": "0o755"}
