"""Vectors: exact cosines, a total order, and answers that depend on the log up to S and on nothing later."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_oracle import exact

from recollect.events.envelope import Recorded
from recollect.events.errors import InvalidInput
from recollect.events.facts import (
    AnyFact,
    EmbedderAdopted,
    Forgotten,
    Ingested,
    Reembedded,
    Restored,
    Revised,
    ShardSealed,
    Superseded,
)
from recollect.events.grid import GRID, GridArray, quantize, to_bytes
from recollect.projections.columns import BoolArray, Int32Array, State
from recollect.projections.documents import Documents
from recollect.projections.portable_math import round12
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.nearest import VectorHits, best
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder

TINY = Builder(M=4, ef_construction=16, seed=1, ef_per_100=100, ef_min=2)


class Store:
    """A log in a list, folded as it grows."""

    def __init__(self, folder: Path | None = None) -> None:
        self.facts: list[AnyFact] = []
        self.documents = Documents()
        self.vectors = Vectors(self.documents, shard_dir=folder)

    def tell(self, *facts: AnyFact) -> int:
        for fact in facts:
            self.facts.append(fact)
            recorded = Recorded(len(self.facts), 0, b"", "", "", 1, b"", fact)
            for new in self.documents.apply(recorded):
                self.vectors.add(new)
            self.vectors.apply(recorded)
        return len(self.facts)

    def sealer(self, *, block: int, builder: Builder = TINY) -> Sealer:
        return Sealer(self.vectors, self.tell, builder=builder, policy=SealPolicy(block=block))

    def ids(self, hits: VectorHits) -> list[str]:
        return [self.documents.ids.values[m] for m in self.documents.memory_of[hits.rows].tolist()]


def folded(facts: Sequence[AnyFact], folder: Path | None = None) -> Store:
    store = Store(folder)
    store.tell(*facts)
    return store


def reopened(facts: Sequence[AnyFact], cut: int, folder: Path | None) -> Store:
    """A checkpoint after `cut` events, loaded, and the rest folded."""
    before = folded(facts[:cut], folder)
    after = Store(folder)
    after.documents.load(copied(before.documents.dump()))
    after.vectors.load(copied(before.vectors.dump()))
    after.facts = list(facts[:cut])
    after.tell(*facts[cut:])
    return after


def copied(state: State) -> State:
    return {name: value if isinstance(value, bytes) else value.copy() for name, value in state.items()}


def same(a: VectorHits, b: VectorHits) -> bool:
    return a.sources == b.sources and all(x.tolist() == y.tolist() for x, y in zip(a[:3], b[:3], strict=True))


def memory(id_: str, vector: Sequence[float] | None) -> Ingested:
    return Ingested(id=id_, content=id_, at=0, vector=None if vector is None else to_bytes(quantize(vector)))


def clustered(count: int, dimensions: int, *, seed: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, count // 40), dimensions))
    points = centres[rng.integers(0, len(centres), count)] + 0.4 * rng.standard_normal((count, dimensions))
    return points.tolist()


EAST, NORTH, NORTH_EAST = quantize([1.0, 0.0]), quantize([0.0, 1.0]), quantize([1.0, 1.0])


# --- what is found and in which order ----------------------------------------------------------------


def test_rows_come_by_cosine_then_by_memory_id():
    store = folded([memory("b", [0, 1]), memory("c", [1, 0]), memory("a", [0, 2]), memory("d", [0, -1])])
    hits = store.vectors.search(NORTH, at=4, top=10)
    assert store.ids(hits) == ["a", "b", "c", "d"]
    assert hits.cosines.tolist() == [1.0, 1.0, 0.0, -1.0]
    assert hits.dots.tolist() == [GRID**2, GRID**2, 0, -(GRID**2)]
    assert hits.sources == ["tail"] * 4


def test_a_tie_at_the_cut_is_decided_by_the_id():
    store = folded([memory(id_, [1, 1]) for id_ in "edcba"])
    assert store.ids(store.vectors.search(EAST, at=5, top=2)) == ["a", "b"]


def test_cosines_are_rounded_to_twelve_digits():
    point = quantize([0.3, 0.7])
    store = folded([memory("a", [0.3, 0.7])])
    true = GRID * int(point[0]) / math.sqrt(GRID**2 * (int(point[0]) ** 2 + int(point[1]) ** 2))
    found = store.vectors.search(EAST, at=1, top=1).cosines.tolist()
    assert found == [float(f"{true:.12g}")]
    assert found != [true]


def test_nothing_is_found_where_no_vector_is():
    store = folded([memory("a", None)])
    assert store.vectors.search(EAST, at=1, top=5).rows.tolist() == []
    assert exact(store.vectors, EAST, at=1, top=5).rows.tolist() == []
    assert folded([memory("a", [1, 0])]).vectors.search(EAST, at=1, top=0).rows.tolist() == []


def test_rows_without_a_vector_or_of_other_dimensions_are_never_found():
    store = folded([memory("a", [1, 0]), memory("b", None), memory("c", [1, 0, 0]), memory("d", [1, 1])])
    assert store.ids(store.vectors.search(EAST, at=4, top=9)) == ["a", "d"]
    assert store.vectors.vector(1) is None
    assert store.vectors.vector(2) is None


def test_a_vector_off_the_grid_is_never_found():
    wild = np.array([5000, 5000], dtype=np.int16)
    store = folded([memory("a", [1, 0]), Ingested(id="b", content="", at=0, vector=to_bytes(wild))])
    assert store.ids(store.vectors.search(EAST, at=2, top=9)) == ["a"]


def test_a_query_of_other_dimensions_is_refused():
    store = folded([memory("a", [1, 0])])
    with pytest.raises(InvalidInput, match=r"shape \(3,\).* 2 dimensions"):
        store.vectors.search(quantize([1, 0, 0]), at=1, top=1)


def test_a_query_off_the_grid_is_refused():
    store = folded([memory("a", [1, 0])])
    with pytest.raises(InvalidInput, match=str(2 * 5000**2)):
        store.vectors.search(np.array([5000, 5000], dtype=np.int16), at=1, top=1)


def test_forgotten_superseded_and_revised_rows_are_gone_and_restored_ones_are_back():
    store = folded([memory("a", [1, 0]), memory("b", [1, 0.1]), memory("c", [1, 0.2])])
    store.tell(Forgotten(id="a"), Superseded(old="b", new="c"))
    store.tell(Revised(id="c", at=0, content="new text"), Restored(id="a"))
    found = {at: store.ids(store.vectors.search(EAST, at=at, top=9)) for at in range(1, 8)}
    assert found[3] == ["a", "b", "c"]
    assert found[4] == ["b", "c"]
    assert found[5] == found[6] == ["c"]
    assert found[7] == ["a", "c"]
    assert store.vectors.search(EAST, at=7, top=9).rows.tolist() == [4, 3]


def test_only_admitted_rows_are_found():
    store = folded([memory(id_, [1, 0]) for id_ in "abcd"])
    hits = store.vectors.search(EAST, at=4, top=9, admit=lambda rows: rows % 2 == 1)
    assert store.ids(hits) == ["b", "d"]


# --- two embedders -----------------------------------------------------------------------------------


def adopted(name: str, dimensions: int = 2) -> EmbedderAdopted:
    return EmbedderAdopted(name=name, dimensions=dimensions, probe=to_bytes(quantize([1.0] * dimensions)))


def test_vectors_of_two_embedders_never_meet():
    store = folded([adopted("A"), memory("a", [1, 0]), adopted("B"), memory("b", [1, 0]), Restored(id="a")])
    assert store.ids(store.vectors.search(EAST, at=2, top=9)) == ["a"]
    assert store.ids(store.vectors.search(EAST, at=3, top=9)) == []
    assert store.ids(store.vectors.search(EAST, at=5, top=9)) == ["b"]
    assert store.vectors.cosines_between(np.array([0]), np.array([1])).tolist() == [[0.0]]
    assert store.vectors.comparable(np.array([0, 1]), at=4).tolist() == [False, True]


def test_a_copied_vector_stays_with_its_embedder():
    store = folded([adopted("A"), memory("a", [1, 0]), Forgotten(id="a"), adopted("B"), Restored(id="a")])
    assert store.ids(store.vectors.search(EAST, at=5, top=9)) == []
    store.tell(Reembedded(embedder="B", vectors=(("a", to_bytes(NORTH)),)))
    assert store.vectors.search(NORTH, at=6, top=9).cosines.tolist() == [1.0]


def test_an_embedder_adopted_again_has_its_vectors_back():
    store = folded([adopted("A"), memory("a", [1, 0]), adopted("B", 3), memory("b", [1, 0, 0]), adopted("A")])
    assert store.ids(store.vectors.search(EAST, at=5, top=9)) == ["a"]
    assert store.ids(store.vectors.search(quantize([1, 0, 0]), at=4, top=9)) == ["b"]


def test_shards_of_one_embedder_are_not_used_for_another():
    store = Store()
    store.tell(adopted("A"), *(memory(f"a{n}", v) for n, v in enumerate(clustered(16, 2, seed=1))))
    sealer = store.sealer(block=8)
    assert sealer.step() is not None
    before = store.tell(adopted("B"))
    assert store.vectors.shards_at(before - 1) != []
    assert store.vectors.shards_at(before) == []
    store.tell(*(memory(f"b{n}", v) for n, v in enumerate(clustered(16, 2, seed=2))))
    fact = sealer.step()
    assert fact is not None
    assert (fact.first_row, fact.end_row) == (16, 32)
    assert {id_[0] for id_ in store.ids(store.vectors.search(EAST, at=len(store.facts), top=9))} == {"b"}


# --- single vectors ----------------------------------------------------------------------------------


def test_similarity_is_the_cosine_of_two_rows():
    store = folded([memory("a", [1, 0]), memory("b", [1, 1]), memory("c", None)])
    x = int(NORTH_EAST[0])
    between = GRID * x / math.sqrt(GRID**2 * 2 * x**2)
    found = store.vectors.cosines_between(np.array([0, 1]), np.array([0, 1, 2]))
    assert found.tolist() == [[1.0, between, 0.0], [between, 1.0, 0.0]]


def test_cosines_of_given_rows():
    store = folded([memory("a", [1, 0]), memory("b", None), memory("c", [0, 1]), memory("d", [-1, 0])])
    rows = np.array([3, 1, 0, 2])
    assert store.vectors.cosines(EAST, rows, at=4).tolist() == [-1.0, 0.0, 1.0, 0.0]


# --- shards ------------------------------------------------------------------------------------------

COUNT, SIDE, TOP = 1_200, 16, 20
BUILDER = Builder(M=12, ef_construction=80, seed=5, ef_per_100=300, ef_min=60)


@pytest.fixture(scope="module")
def sealed_store(tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("shards"))
    store.tell(*(memory(f"m{n:04}", v) for n, v in enumerate(clustered(COUNT, SIDE, seed=3))))
    assert store.sealer(block=500, builder=BUILDER).step() is not None
    store.tell(*(Forgotten(id=f"m{n:04}") for n in range(0, COUNT, 7)))
    return store


def queries(count: int) -> list[GridArray]:
    return [quantize(vector) for vector in clustered(count, SIDE, seed=3)]


def test_shards_find_nearly_all_with_the_exact_cosines(sealed_store):
    vectors, at, found = sealed_store.vectors, len(sealed_store.facts), 0
    for query in queries(50):
        hits, nearest = vectors.search(query, at=at, top=TOP), exact(vectors, query, at=at, top=TOP)
        known = dict(zip(nearest.rows.tolist(), nearest.cosines.tolist(), strict=True))
        found += len(known.keys() & set(hits.rows.tolist()))
        assert hits.cosines.tolist() == vectors.cosines(query, hits.rows, at=at).tolist()
        assert all(
            known.get(row, cos) == cos
            for row, cos in zip(hits.rows.tolist(), hits.cosines.tolist(), strict=True)
        )
        assert len(set(hits.sources) - {"tail"}) == 1
    assert found >= 0.99 * 50 * TOP


@pytest.fixture(scope="module", params=["spread", "one shard has all"])
def four_shards(request, tmp_path_factory) -> Store:
    """Four shards of 500; the topics of the questions are spread over them, or all in the second."""
    points = np.array(clustered(2_000, SIDE, seed=3))
    if request.param != "spread":
        points[:500] += 40.0
        points[1_000:] += 40.0
    store = Store(tmp_path_factory.mktemp("four"))
    for first in range(0, 2_000, 500):
        store.tell(
            *(memory(f"m{first + n:04}", v) for n, v in enumerate(points[first : first + 500].tolist()))
        )
        policy = SealPolicy(block=500, ratio=0.0)
        Sealer(store.vectors, store.tell, builder=BUILDER, policy=policy).step()
    assert len(store.vectors.shards_at(len(store.facts))) == 4
    return store


def test_several_shards_searched_narrowly_still_find_nearly_all(four_shards):
    vectors, at, found = four_shards.vectors, len(four_shards.facts), 0
    for query in queries(50):
        hits, nearest = vectors.search(query, at=at, top=TOP), exact(vectors, query, at=at, top=TOP)
        found += len(set(nearest.rows.tolist()) & set(hits.rows.tolist()))
    assert found >= 0.99 * 50 * TOP


@pytest.mark.parametrize("four_shards", ["one shard has all"], indirect=True)
def test_a_shard_that_has_most_of_the_best_is_searched_as_if_it_were_the_only_one(four_shards):
    vectors, at, again = four_shards.vectors, len(four_shards.facts), 0
    for query in queries(50):
        narrow = vectors._begin(query, at, TOP, None)
        others = [500, 500, 500]
        parts = [
            narrow.narrowly(one, partial(vectors.shard, one.fact), others) for one in vectors._in_use(at)
        ]
        assert {part.enough for part in parts} == {11}  # 60 * (1/4) ** (3/4) = 21.2: half of 22
        used = Counter(narrow.merge(parts).sources)
        hits = vectors.search(query, at=at, top=TOP)
        for one, part in zip(vectors._in_use(at), parts, strict=True):
            if used[part.source] > 11:
                again += 1
                whole = narrow.through(one, partial(vectors.shard, one.fact))
                chosen = {
                    row for row, source in zip(hits.rows, hits.sources, strict=True) if source == part.source
                }
                assert chosen <= set(narrow._space.rows.array[whole.slots])
    assert again > 0


def test_a_lost_shard_file_changes_no_answer(sealed_store, tmp_path):
    at = len(sealed_store.facts)
    rebuilt = folded(sealed_store.facts, tmp_path)
    for query in queries(5):
        assert same(
            rebuilt.vectors.search(query, at=at, top=TOP), sealed_store.vectors.search(query, at=at, top=TOP)
        )
    assert len(list(tmp_path.glob("*.hnsw"))) == 1


@pytest.mark.parametrize("share", [2, 10, 300], ids=["half", "a tenth", "few"])
def test_a_selective_filter_still_finds_the_nearest_admitted(sealed_store, share):
    def admit(rows: Int32Array) -> BoolArray:
        return rows % share == 1

    at, found, wanted = len(sealed_store.facts), 0, 0
    for query in queries(20):
        hits = sealed_store.vectors.search(query, at=at, top=TOP, admit=admit)
        nearest = exact(sealed_store.vectors, query, at=at, top=TOP, admit=admit)
        assert len(hits.rows) == len(nearest.rows)
        assert admit(hits.rows).all()
        assert sealed_store.documents.alive(hits.rows, at).all()
        found += len(set(hits.rows.tolist()) & set(nearest.rows.tolist()))
        wanted += len(nearest.rows)
    assert found >= 0.99 * wanted


def test_a_bigger_shard_replaces_those_it_covers_from_its_seq_on():
    store = Store()
    sealer = store.sealer(block=8)
    for n, vector in enumerate(clustered(40, 4, seed=1)):
        store.tell(memory(f"m{n:02}", vector))
        sealer.step()
    sizes = [
        [fact.end_row - fact.first_row for fact in store.vectors.shards_at(at)]
        for at in range(len(store.facts) + 1)
    ]
    assert sizes[8] == []
    assert sizes[9] == [8]
    assert [8, 8] not in sizes
    assert sum(sizes[-1]) == 40
    assert store.vectors.unsealed_rows(8) == 8
    assert store.vectors.unsealed_rows(len(store.facts)) == 0


def seal_of(first: int, end: int, *, basis: int, count: int | None = None) -> ShardSealed:
    count = end - first if count is None else count
    return ShardSealed(first_row=first, end_row=end, basis=basis, count=count, digest="", builder=TINY.name)


def test_a_shard_that_overlaps_or_lies_within_another_is_not_used():
    store = folded([memory(f"m{n}", [1, n]) for n in range(12)])
    at = store.tell(seal_of(2, 8, basis=12), seal_of(6, 10, basis=12), seal_of(3, 5, basis=12))
    assert [(fact.first_row, fact.end_row) for fact in store.vectors.shards_at(at)] == [(2, 8)]


def test_a_shard_of_rows_that_were_not_born_is_not_used():
    store = folded([memory(f"m{n}", [1, n]) for n in range(4)])
    at = store.tell(seal_of(0, 4, basis=3), seal_of(0, 5, basis=99))
    assert store.vectors.shards_at(at) == []


def test_a_shard_of_which_rows_were_erased_is_not_used():
    store = folded([memory(f"m{n}", [1, n]) for n in range(4)])
    at = store.tell(seal_of(0, 4, basis=4, count=5))
    assert store.vectors.shards_at(at) == []
    assert len(store.vectors.search(EAST, at=at, top=9).rows) == 4


def test_no_cosine_that_rounding_may_make_equal_to_the_last_is_cut():
    cosines = np.array([0.5, 0.9, 0.5 + 1e-13, 0.4])
    assert best(cosines, 2).tolist() == [0, 1, 2]


# --- laws --------------------------------------------------------------------------------------------

STEPS = ["ingest"] * 5 + ["seal"] * 4 + ["revise", "forget", "forget", "restore", "bare", "adopt"]


def told(plan: Sequence[str], seed: int, block: int, folder: Path) -> Store:
    """The log that these steps leave behind; memories, vectors and embedders are drawn from the seed."""
    store, rng = Store(folder), np.random.default_rng(seed)
    sealer = store.sealer(block=block)

    def some() -> str:
        return f"m{rng.integers(60):02}"

    facts: dict[str, Callable[[], list[AnyFact]]] = {
        "ingest": lambda: [memory(some(), (rng.integers(-2, 3, 3) + 0.25).tolist()) for _ in range(block)],
        "bare": lambda: [memory(some(), None)],
        "revise": lambda: [Revised(id=some(), at=0, content="other")],
        "forget": lambda: [Forgotten(id=some()) for _ in range(4)],
        "restore": lambda: [Restored(id=some()) for _ in range(4)],
        "adopt": lambda: [adopted("AAAB"[rng.integers(4)], 3)],
    }
    for step in plan:
        if step == "seal":
            sealer.step()
        else:
            store.tell(*facts[step]())
    return store


@settings(max_examples=80)
@given(
    plan=st.lists(st.sampled_from(STEPS), min_size=12, max_size=30),
    seed=st.integers(0, 999),
    block=st.sampled_from([8, 16]),
    data=st.data(),
)
def test_a_search_at_s_is_a_function_of_the_log_up_to_s(tmp_path, plan, seed, block, data):
    store = told(plan, seed, block, tmp_path)
    head = len(store.facts)
    cut = data.draw(st.integers(0, head), label="checkpoint")
    loaded = reopened(store.facts, cut, tmp_path)
    rng = np.random.default_rng(seed)
    for at in sorted({data.draw(st.integers(0, head), label="at") for _ in range(3)} | {head}):
        fresh = folded(store.facts[:at], tmp_path)
        query, top, share = quantize(rng.standard_normal(3)), int(rng.integers(1, 7)), int(rng.integers(1, 4))
        admit = None if share == 1 else lambda rows, share=share: rows % share == 0
        hits = fresh.vectors.search(query, at=at, top=top, admit=admit)
        assert same(store.vectors.search(query, at=at, top=top, admit=admit), hits)
        assert same(loaded.vectors.search(query, at=at, top=top, admit=admit), hits)
        assert store.documents.alive(hits.rows, at).all()
        assert (hits.rows % share == 0).all()
        nearest = exact(store.vectors, query, at=at, top=top, admit=admit)
        assert len(hits.rows) == len(nearest.rows)
        assert hits.cosines.tolist() == store.vectors.cosines(query, hits.rows, at=at).tolist()
        assert all(a <= b for a, b in zip(hits.cosines.tolist(), nearest.cosines.tolist(), strict=True))
        if not store.vectors.shards_at(at):
            assert same(hits, nearest)


def test_a_checkpoint_is_taken_over_without_a_copy_of_the_matrix():
    store = folded([memory(f"m{n}", [1, n]) for n in range(50)])
    state = copied(store.vectors.dump())
    after = Vectors(store.documents)
    after.load(state)
    vector = after.vector(3)
    assert vector is not None
    points = state["0.points"]
    assert not isinstance(points, bytes)
    assert np.shares_memory(vector, points)


def test_more_rows_than_one_chunk_are_found_and_dumped(monkeypatch):
    monkeypatch.setattr("recollect.projections.vectors.embeddings.CHUNK_SLOTS", 16)
    facts = [memory(f"m{n:03}", v) for n, v in enumerate(clustered(75, 5, seed=9))]
    whole, loaded = folded(facts), reopened(facts, 40, None)
    for at in (10, 50, 75):
        query = quantize(clustered(1, 5, seed=at)[0])
        expected = sorted(
            ((-round12(c), id_) for c, id_ in ((cosine_by_hand(query, fact), fact.id) for fact in facts[:at]))
        )[:8]
        for store in (whole, loaded):
            hits = store.vectors.search(query, at=at, top=8)
            assert list(zip((-hits.cosines).tolist(), store.ids(hits), strict=True)) == expected
            assert same(exact(store.vectors, query, at=at, top=8), hits)


def cosine_by_hand(query: GridArray, fact: Ingested) -> float:
    assert fact.vector is not None
    a, b = query.tolist(), np.frombuffer(fact.vector, dtype="<i2").tolist()
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(
        sum(x * x for x in a) * sum(y * y for y in b)
    )
