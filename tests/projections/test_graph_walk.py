"""Index files walked without hnswlib: the same rows at the same distances, however many distances are equal."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from recollect.projections.columns import Int32Array
from recollect.projections.vectors import level_generator
from recollect.projections.vectors.embeddings import Float32Array
from recollect.projections.vectors.graph_walk import GraphFile
from recollect.projections.vectors.shard_names import LIBSTDCXX, Builder
from recollect.projections.vectors.shards import Shard, build_shard, load_shard

ROWS, DIMENSIONS = 1_500, 24
BUILDER = Builder(M=6, ef_construction=40)


class Block(NamedTuple):
    rows: Int32Array
    matrix: Float32Array

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def points(self, first: int, end: int) -> Float32Array:
        return self.matrix[first:end]


def block_of(kind: str) -> Block:
    """All different, of few different numbers, or each of a few vectors many times."""
    random = np.random.default_rng(11)
    numbers = {
        "different": lambda: random.integers(-400, 401, (ROWS, DIMENSIONS)),
        "alike": lambda: random.integers(-1, 2, (ROWS, DIMENSIONS)),
        "repeated": lambda: random.integers(-9, 10, (40, DIMENSIONS))[random.integers(0, 40, ROWS)],
    }[kind]()
    return Block(np.arange(7, 7 + 3 * ROWS, 3, dtype=np.int32), numbers.astype(np.float32))


@pytest.mark.parametrize("kind", ["different", "alike", "repeated"])
@pytest.mark.parametrize("k", [1, 8, 40, 300])
def test_a_walk_finds_what_hnswlib_finds(tmp_path: Path, kind: str, k: int):
    if level_generator.generator_here() != LIBSTDCXX:
        pytest.skip("this machine's hnswlib was not built with GNU's C++ library")
    block = block_of(kind)
    built = build_shard(block, BUILDER)
    built.save(tmp_path / "index")
    walked = load_shard(tmp_path / "index", dimensions=DIMENSIONS, count=ROWS, foreign=True)
    queries = block.matrix[::97] + np.eye(1, DIMENSIONS, dtype=np.float32)
    for query in [*queries, np.zeros(DIMENSIONS, dtype=np.float32)]:
        assert answers(walked, query, k) == answers(built, query, k)


def answers(shard: Shard, query: Float32Array, k: int) -> tuple[list[int], list[int]] | None:
    found = shard.nearest(query, k)
    return None if found is None else (found.rows.tolist(), found.dots.tolist())


def test_a_walk_that_cannot_reach_enough_rows_says_so_as_hnswlib_does(tmp_path: Path):
    block = block_of("repeated")
    built = build_shard(block, Builder(M=2, ef_construction=4))
    built.save(tmp_path / "index")
    walked = load_shard(tmp_path / "index", dimensions=DIMENSIONS, count=ROWS, foreign=True)
    wide = [answers(one, block.matrix[3], ROWS) for one in (walked, built)]
    assert wide == [None, None]


def test_a_file_has_the_rows_and_vectors_that_it_was_built_from(tmp_path: Path):
    block = block_of("different")
    build_shard(block, BUILDER).save(tmp_path / "index")
    file = GraphFile(tmp_path / "index", DIMENSIONS)
    assert sorted(file.get_ids_list()) == block.rows.tolist()
    assert np.array_equal(file.get_items(block.rows, return_type="numpy"), block.matrix)


def test_a_file_that_was_cut_is_not_walked(tmp_path: Path):
    build_shard(block_of("different"), BUILDER).save(tmp_path / "index")
    whole = (tmp_path / "index").read_bytes()
    for size in (10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "index").write_bytes(whole[:size])
        with pytest.raises(RuntimeError, match=r"it ends|bytes"):
            load_shard(tmp_path / "index", dimensions=DIMENSIONS, count=ROWS, foreign=True)
