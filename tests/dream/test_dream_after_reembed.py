"""After the store got another embedder a dream measures no question with a vector of the old one, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.interfaces.python.memory import Memory


class Toy:
    """An embedder of its own."""

    name, ready = "toy/1", True

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    def warm(self) -> None:
        """Always ready."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([np.eye(self.dimensions)[len(text) % self.dimensions] for text in texts])


def lived(folder: Path) -> None:
    with Memory.open(folder, embedder="hash") as memory:
        memory.remember_many([{"content": f"fact {n} about redis", "id": f"f{n}"} for n in range(6)])
        memory.recall("redis")
        memory.recall("redis facts")


@pytest.mark.parametrize("dimensions", [32, 256], ids=["other dimensions", "as many dimensions"])
def test_questions_of_the_embedder_before_are_measured_by_words_and_the_report_says_how_many(
    tmp_path: Path, dimensions: int
):
    lived(tmp_path)
    with Memory.open(tmp_path, embedder=None) as memory:
        assert memory.dream(dry_run=True).degraded == ()
        memory.reembed(Toy(dimensions))
    with Memory.open(tmp_path, embedder=Toy(dimensions)) as memory:
        memory.recall("facts")
        report = memory.dream()
        assert (report.committed, report.metrics["questions"]) == (True, 3.0)
        (said,) = report.degraded
        assert said.startswith("vector: 2 of 3 recorded questions were measured by words only")


def test_a_process_with_the_embedder_before_is_told_so_when_it_dreams(tmp_path: Path):
    lived(tmp_path)
    with Memory.open(tmp_path, embedder="hash") as memory, Memory.open(tmp_path, embedder=None) as other:
        other.reembed(Toy(32))
        with pytest.raises(
            EmbedderMismatch, match="come from the embedder 'toy/1', but it was opened with 'hash/1'"
        ):
            memory.dream()
