"""nearness: cosines on a scale on which unrelated texts are at 0, whatever the model calls unrelated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recollect.engine.embedding.embedder import PROBE_TEXT
from recollect.interfaces.python.memory import Memory

FORMULA = """
name = "near"
stages = [
  { op = "retrieve", channel = "vector" },
  { op = "weigh", weights = { importance = 0.0 } },
  { op = "boost", amounts = { nearness = 1.0 } },
]
"""
DIRECTIONS = {PROBE_TEXT: 0, "a cat": 1, "the cat": 1, "a train": 2, "cats?": 1}


def narrow(texts: list[str]) -> np.ndarray:
    """A model in whose eyes unrelated texts have a cosine of 0.8."""
    rows = np.zeros((len(texts), 8), np.float32)
    rows[:, 7] = 2.0
    for row, text in zip(rows, texts, strict=True):
        row[DIRECTIONS[text]] = 1.0
    return rows


@pytest.mark.parametrize("measured", [False, True])
def test_the_same_is_1_and_the_unrelated_is_0(tmp_path: Path, measured: bool):
    text = (
        FORMULA.replace('  { op = "weigh"', '  { op = "measure", channel = "vector" },\n  { op = "weigh"')
        if measured
        else FORMULA
    )
    (tmp_path / "near.toml").write_text(text, "utf-8")
    with Memory.open(tmp_path / "store", embedder=narrow, formula=str(tmp_path / "near.toml")) as memory:
        memory.remember("the cat", id="cat")
        memory.remember("a train", id="train")
        found = {hit.id: hit.score for hit in memory.recall("cats?").hits}
        assert found == {"cat": pytest.approx(1.0, abs=2e-3), "train": pytest.approx(0.0, abs=2e-3)}
        assert memory.verify(independent=True).exact


def test_without_vectors_there_is_no_nearness(tmp_path: Path):
    (tmp_path / "near.toml").write_text(FORMULA.replace('"vector"', '"lexical"'), "utf-8")
    with Memory.open(tmp_path / "store", embedder=None, formula=str(tmp_path / "near.toml")) as memory:
        memory.remember("the cat", id="cat")
        assert [hit.score for hit in memory.recall("cat").hits] == [0.0]
