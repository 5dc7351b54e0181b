from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A store with the real clock and no embedder."""
    with Memory.open(tmp_path / "store", embedder=None) as memory:
        yield memory
