"""Shards: the same rows give the same bytes, files are only a cache, and what is loaded answers as what was built."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from recollect.events.facts import ShardSealed
from recollect.events.grid import GRID, quantize
from recollect.projections.columns import Int32Array
from recollect.projections.vectors.embeddings import Float32Array
from recollect.projections.vectors.shard_cache import ShardCache, ShardMismatch, ShardUnavailable
from recollect.projections.vectors.shard_names import Builder
from recollect.projections.vectors.shards import BuildStopped, Shard, build_shard, sampled

ROWS = 2_500
DIMENSIONS = 24
BUILDER = Builder(M=8, ef_construction=60, seed=7)


class Block(NamedTuple):
    rows: Int32Array
    matrix: Float32Array

    @property
    def dimensions(self) -> int:
        return self.matrix.shape[1]

    def points(self, first: int, end: int) -> Float32Array:
        return self.matrix[first:end]


def block_of(count: int, *, seed: int = 1) -> Block:
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSIONS))
    points = [quantize(vector) for vector in vectors]
    return Block(np.arange(100, 100 + count, dtype=np.int32), np.array(points, dtype=np.float32))


@pytest.fixture(scope="module")
def block() -> Block:
    return block_of(ROWS)


@pytest.fixture(scope="module")
def shard(block: Block) -> Shard:
    return build_shard(block, BUILDER)


@pytest.fixture
def query(block: Block) -> Float32Array:
    return block.matrix[17]


def fact_of(digest: str, *, count: int = ROWS, builder: str = BUILDER.name) -> ShardSealed:
    return ShardSealed(
        first_row=100, end_row=100 + ROWS, basis=9, count=count, digest=digest, builder=builder
    )


def never() -> Block:
    raise AssertionError("nothing had to be built")


def file_of(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.hnsw"


def answers(shard: Shard, query: Float32Array) -> tuple[list[int], list[int]]:
    nearest = shard.nearest(query, 60)
    assert nearest is not None
    return nearest.rows.tolist(), nearest.dots.tolist()


def test_two_builds_of_the_same_rows_have_the_same_bytes(tmp_path, block, shard):
    again = build_shard(block, BUILDER)
    digests = {ShardCache(tmp_path / "a").add(shard), ShardCache(tmp_path / "b").add(again)}
    assert len(digests) == 1


def test_building_in_slices_changes_nothing(tmp_path, block, shard, monkeypatch):
    monkeypatch.setattr("recollect.projections.vectors.shards._SLICE_ROWS", 7)
    assert ShardCache(None).add(build_shard(block, BUILDER)) == ShardCache(tmp_path).add(shard)


def test_other_parameters_give_another_shard(block, shard):
    other = build_shard(block, Builder(M=8, ef_construction=60, seed=8))
    assert ShardCache(None).add(other) != ShardCache(None).add(shard)


def test_the_file_is_named_after_its_bytes(tmp_path, shard):
    digest = ShardCache(tmp_path).add(shard)
    assert [path.name for path in tmp_path.iterdir()] == [f"{digest}.hnsw"]
    assert hashlib.sha256(file_of(tmp_path, digest).read_bytes()).hexdigest() == digest


def test_a_loaded_shard_answers_as_the_built_one(tmp_path, block, shard, query):
    digest = ShardCache(tmp_path).add(shard)
    loaded = ShardCache(tmp_path).get(fact_of(digest), lambda: block)
    assert answers(loaded, query) == answers(shard, query)


@pytest.mark.parametrize("harm", ["missing", "cut", "flipped", "empty"])
def test_a_lost_or_damaged_file_is_built_again(tmp_path, block, shard, query, harm):
    digest = ShardCache(tmp_path).add(shard)
    path = file_of(tmp_path, digest)
    good = path.read_bytes()
    match harm:
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(good[:-1])
        case "flipped":
            path.write_bytes(good[:5000] + bytes([good[5000] ^ 1]) + good[5001:])
        case "empty":
            path.write_bytes(b"")
    again = ShardCache(tmp_path).get(fact_of(digest), lambda: block)
    assert answers(again, query) == answers(shard, query)
    assert path.read_bytes() == good


def test_a_shard_that_comes_out_differently_is_refused_by_both_names(tmp_path, block, shard):
    digest = ShardCache(None).add(shard)
    other = block_of(ROWS, seed=2)
    with pytest.raises(ShardMismatch, match=digest) as caught:
        ShardCache(tmp_path).get(fact_of(digest), lambda: other)
    assert caught.value.expected == digest
    assert caught.value.actual == ShardCache(None).add(build_shard(other, BUILDER))
    assert caught.value.actual in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_nearest_dots_are_the_exact_ones(block, shard, query):
    rows, dots = answers(shard, query)
    exact = block.matrix.astype(np.int64) @ query.astype(np.int64)
    assert dots == exact[np.array(rows) - 100].tolist()
    assert dots == sorted(dots, reverse=True)


def test_a_wide_search_finds_the_best_rows(block, shard, query):
    exact = block.matrix.astype(np.int64) @ query.astype(np.int64)
    wide = shard.nearest(query, 400)
    assert wide is not None
    best = set((np.argsort(-exact)[:60] + 100).tolist())
    assert len(best & set(wide.rows[:60].tolist())) >= 59


def test_a_graph_that_cannot_give_so_many_says_so(shard, query):
    assert shard.nearest(query, ROWS + 1) is None


def test_the_one_distance_that_float32_rounds_is_never_trusted():
    axis = np.zeros((3, 4), dtype=np.float32)
    axis[0, 0], axis[1, 0], axis[2, 1] = GRID, -GRID, GRID
    shard = build_shard(Block(np.arange(3, dtype=np.int32), axis), BUILDER)
    two = shard.nearest(axis[0], 2)
    assert two is not None
    assert two.dots.tolist() == [GRID**2, 0]
    assert shard.nearest(axis[0], 3) is None


def test_a_shard_without_rows_finds_nothing(tmp_path, query):
    empty = build_shard(block_of(ROWS)._replace(rows=np.empty(0, np.int32)), BUILDER)
    digest = ShardCache(tmp_path).add(empty)
    assert empty.nearest(query, 1) is None
    assert ShardCache(tmp_path).get(fact_of(digest, count=0), never).nearest(query, 1) is None


def test_a_build_stops_when_told(block):
    stop = threading.Event()
    with pytest.raises(BuildStopped, match=f"200 of {ROWS}"):
        build_shard(block, BUILDER, stop=stop, progress=lambda done, rows: stop.set())


def test_of_shards_not_in_use_only_the_last_few_stay_loaded(tmp_path):
    cache = ShardCache(tmp_path, room=2)
    digests = [cache.add(build_shard(block_of(20, seed=n), BUILDER)) for n in range(4)]
    for digest in digests:
        file_of(tmp_path, digest).unlink()
    cache.get(fact_of(digests[3], count=20), never)
    cache.get(fact_of(digests[2], count=20), never)
    with pytest.raises(AssertionError, match="nothing had to be built"):
        cache.get(fact_of(digests[1], count=20), never)


def test_pinned_shards_stay_loaded(tmp_path):
    cache = ShardCache(tmp_path, room=1)
    pinned = cache.add(build_shard(block_of(20, seed=0), BUILDER))
    cache.pin([pinned])
    for n in range(1, 4):
        cache.add(build_shard(block_of(20, seed=n), BUILDER))
    file_of(tmp_path, pinned).unlink()
    cache.get(fact_of(pinned, count=20), never)


def test_purging_leaves_no_file_and_no_loaded_shard(tmp_path, shard):
    cache = ShardCache(tmp_path)
    digest = cache.add(shard)
    assert cache.keep_only(()) == [f"{digest}.hnsw"]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AssertionError, match="nothing had to be built"):
        cache.get(fact_of(digest), never)


def cut_short(monkeypatch: pytest.MonkeyPatch, *, keep: float) -> None:
    """From now on only a part of every shard reaches the disk, without an error: as hnswlib writes to a full one."""
    save = Shard.save

    def cut(self: Shard, path: Path) -> None:
        save(self, path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * keep)])

    monkeypatch.setattr(Shard, "save", cut)


@pytest.mark.parametrize("keep", [0.0, 0.0001, 0.5, 0.9999])
def test_a_shard_that_was_not_written_completely_gets_no_name(tmp_path, shard, monkeypatch, keep):
    with monkeypatch.context() as full:
        cut_short(full, keep=keep)
        with pytest.raises(OSError, match="not written completely"):
            ShardCache(tmp_path).add(shard)
    assert list(tmp_path.iterdir()) == []
    assert file_of(tmp_path, ShardCache(tmp_path).add(shard)).exists()


def test_a_shard_that_answers_differently_when_read_back_gets_no_name(tmp_path, block, shard, monkeypatch):
    other = build_shard(Block(block.rows, block.matrix[::-1].copy()), BUILDER)
    monkeypatch.setattr(Shard, "save", lambda _, path, save=Shard.save: save(other, path))
    with pytest.raises(OSError, match="does not answer as it was built"):
        ShardCache(tmp_path).add(shard)
    assert list(tmp_path.iterdir()) == []


def adopted(folder: Path, content: bytes) -> ShardSealed:
    digest = hashlib.sha256(content).hexdigest()
    file_of(folder, digest).write_bytes(content)
    return fact_of(digest)


@pytest.mark.parametrize("keep", [0, 50, 96, 5_000, -1])
def test_an_adopted_file_that_is_cut_short_is_proven_bad_and_not_built_again(tmp_path, block, shard, keep):
    shard.save(tmp_path / "whole")
    fact = adopted(tmp_path, (tmp_path / "whole").read_bytes()[:keep])
    cache = ShardCache(tmp_path)
    for source in (lambda: block, never):  # the second time it is known
        with pytest.raises(ShardUnavailable) as caught:
            cache.get(fact, source)
        assert (caught.value.digest, caught.value.proven) == (fact.digest, True)


def test_an_adopted_file_of_other_rows_or_vectors_is_proven_bad(tmp_path, block, shard):
    shard.save(tmp_path / "whole")
    fact = adopted(tmp_path, (tmp_path / "whole").read_bytes())
    shifted = Block(block.rows, np.roll(block.matrix, 1, axis=0))
    renumbered = Block(block.rows + 1, block.matrix)
    for source in (shifted, renumbered):
        with pytest.raises(ShardUnavailable) as caught:
            ShardCache(tmp_path).get(fact, lambda source=source: source)
        assert caught.value.proven
    assert answers(ShardCache(tmp_path).get(fact, lambda: block), block.matrix[3]) == answers(
        shard, block.matrix[3]
    )


def test_a_shard_that_cannot_be_built_again_is_not_built_at_every_question(tmp_path, shard):
    digest = ShardCache(None).add(shard)
    cache, other = ShardCache(tmp_path), block_of(ROWS, seed=2)
    with pytest.raises(ShardMismatch) as first:
        cache.get(fact_of(digest), lambda: other)
    with pytest.raises(ShardUnavailable) as again:
        cache.get(fact_of(digest), never)
    assert (again.value.reason, again.value.proven) == (first.value.reason, False)


def test_on_a_full_disk_a_lost_shard_is_built_in_memory(tmp_path, block, shard, query, monkeypatch):
    digest = ShardCache(None).add(shard)
    save = Shard.save

    def full(self: Shard, path: Path) -> None:
        save(self, path)
        if path.is_relative_to(tmp_path):
            path.write_bytes(path.read_bytes()[:9_000])

    monkeypatch.setattr(Shard, "save", full)
    assert answers(ShardCache(tmp_path).get(fact_of(digest), lambda: block), query) == answers(shard, query)
    assert list(tmp_path.iterdir()) == []


def test_examining_compares_every_vector_of_a_shard(tmp_path, block):
    """One vector is another, between those that a first look compares."""
    other = block.matrix.copy()
    place = next(place for place in range(ROWS) if place not in sampled(ROWS).tolist())
    other[place] = block.matrix[(place + 1) % ROWS]
    cache = ShardCache(tmp_path)
    digest = cache.add(build_shard(Block(block.rows, other), BUILDER))
    found = ShardCache(tmp_path).examine(fact_of(digest), block)
    assert found is not None
    assert f"vector of row {block.rows[place]} is not the one of the log" in found.reason
    assert ShardCache(tmp_path).examine(fact_of(digest), Block(block.rows, other)) is None
