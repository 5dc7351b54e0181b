"""Stores written by earlier versions: today's program must give their rankings, bit for bit, for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors import level_generator
from recollect.projections.vectors.shard_names import LIBSTDCXX

STORES = sorted((Path(__file__).parent / "stores").iterdir())
CHAINS = {
    "v1": "af49c0e3d7f91ca36b5db34154266a59d7d5c33bd472e56320874839a0fe0f2b",
    "v2": "ee596082fdce4e666a986a602ca01ef1f3e45a289b95daed907aa7e9f80e6cd8",
    "v3": "9e9bfd8ffca48f2eb3679f4ccad71535281878dcab9179e632571f868c9866bd",
    "v4": "bba74cad4b7209f50088d29f27d94d7ec19a130b43f9b06d7de357f3a3052574",
}
RECALLS = {"v1": 64, "v2": 112, "v3": 160, "v4": 192}
SHARDS = Path(__file__).parent / "shards"


@pytest.mark.parametrize("stored", STORES, ids=lambda path: path.name)
def test_every_recall_of_a_golden_store_replays_exactly(stored: Path, tmp_path: Path):
    shutil.copytree(stored, tmp_path / "log")
    if level_generator.generator_here() != LIBSTDCXX:  # it cannot be built here: take it as it was brought
        shutil.copytree(SHARDS, tmp_path / "cache" / "shards")
    with Memory.open(tmp_path, embedder="hash") as memory:
        report = memory.verify()
        assert report.exact, report.differences[:3]
        assert report.checked == RECALLS[stored.name]
        assert memory.store.log.chain_at(memory.status().head).hex() == CHAINS[stored.name]
