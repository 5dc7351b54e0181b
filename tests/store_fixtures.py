"""Stores for tests: a real log on disk, a clock that ticks by the second, the hash embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory

START = 1_763_000_000_000_000


class Ticking:
    """A clock that moves one second per reading."""

    def __init__(self, start: int = START) -> None:
        self.now = start

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def open_memory(tmp_path: Path, clock: Ticking) -> Iterator[Callable[..., Memory]]:
    """Opens the test's store, as often as asked; all are closed at the end."""
    opened: list[Memory] = []

    def open_(name: str = "store", **options: object) -> Memory:
        memory = Memory.open(tmp_path / name, **{"embedder": "hash", "clock": clock, **options})
        opened.append(memory)
        return memory

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()
