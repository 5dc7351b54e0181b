"""A laptop's store, a remote one, and a colleague who writes to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine.sync import SyncReport, sync
from recollect.interfaces.python.memory import Memory


class Place:
    """A laptop, a remote store, and a colleague who writes to it."""

    def __init__(self, tmp_path: Path) -> None:
        self.laptop = tmp_path / "laptop"
        self.remote = f"file://{tmp_path}/shared?mirror={tmp_path}/mirror"
        self.colleague_url = f"file://{tmp_path}/shared?mirror={tmp_path}/colleague"

    def here(self) -> Memory:
        return Memory.open(self.laptop, embedder="hash")

    def colleague(self) -> Memory:
        return Memory.open(self.colleague_url, embedder="hash")

    def sync(self) -> SyncReport:
        report = sync(self.laptop, self.remote)
        with self.here() as here, self.colleague() as there:
            log, other = here.store.log, there.store.log
            assert (log.head, other.head) == (report.head, report.head)
            assert log.chain_at(report.head).hex() == other.chain_at(report.head).hex() == report.chain
            assert here.verify().damage == ()
            assert here.verify().contradictions == ()
        return report


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    with place.here() as memory:
        memory.remember("auth sessions live in Postgres", id="auth")
        memory.remember("deploys happen on Tuesdays", id="deploy")
    report = place.sync()
    assert (report.pushed, report.pulled, report.branch) == (3, 0, None)
    return place


def holding(folder: Path, text: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]
