"""What a second formula is given without searching is what it would have found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.engine.embedding.embedder import HashEmbedder
from recollect.events.facts import ShardSealed
from recollect.events.grid import quantize
from recollect.projections.lexical.bm25 import Bm25
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder
from recollect.projections.vectors.shards import Shard
from recollect.replay.compare.shared_search import SharedSearch
from recollect.replay.shared_scans import SharedVectors

WORDS = ("tea", "kettle", "train", "rain", "green")
ANALYZER = "unicode61-cjk/2"


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with Memory.open(tmp_path_factory.mktemp("once"), embedder="hash", formula="reverie") as memory:
        memory.remember_many(
            [" ".join(WORDS[(n * step) % 5] for step in range(1, 2 + n % 4)) for n in range(60)]
        )
        memory.recall("tea")
        yield memory


@given(
    st.lists(st.integers(1, 70), min_size=1, max_size=5),
    st.integers(0, 70),
    st.sampled_from(["tea", "rain tea green", "kettle kettle"]),
)
def test_a_word_search_gives_the_same_whatever_was_searched_before_and_how_deep(memory, tops, depth, query):
    projections = memory.store.projections
    once = SharedSearch(projections, projections.position, 0, depth=depth)
    for top in tops:
        shared = once.lexical(ANALYZER).search(query, at=projections.position, bm25=Bm25(), top=top)
        alone = projections.lexicals[ANALYZER].search(query, at=projections.position, bm25=Bm25(), top=top)
        assert (shared.rows.tolist(), shared.scores.tolist()) == (alone.rows.tolist(), alone.scores.tolist())


def test_fewer_rows_than_before_are_not_searched_again(memory, monkeypatch):
    projections = memory.store.projections
    lexical, searches = projections.lexicals[ANALYZER], []
    search = lexical.search
    monkeypatch.setattr(
        lexical, "search", lambda *args, **kwargs: searches.append(1) or search(*args, **kwargs)
    )
    once = SharedSearch(projections, projections.position, 0, depth=10)
    for top in (5, 10, 3, 20, 15):
        once.lexical(ANALYZER).search("tea", at=projections.position, bm25=Bm25(), top=top)
    assert len(searches) == 2  # ten at once, then twenty


# --- vectors -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """Three shards of 200 and a tail, with shards of several widths for `top` between 1 and 120."""
    folder = tmp_path_factory.mktemp("sealed")
    with Memory.open(folder, embedder="hash", formula="reverie") as memory:
        store = memory.store

        def publish(fact: ShardSealed) -> None:
            store.append([fact])

        for part in range(3):
            memory.remember_many([f"{WORDS[n % 5]} {part} number {n}" for n in range(200)])
            policy = SealPolicy(block=200, ratio=0.0)
            builder = Builder(M=8, ef_construction=40, ef_min=20, ef_per_100=60)
            Sealer(store.projections.vectors, publish, builder=builder, policy=policy).step()
        memory.remember_many([f"{WORDS[n % 5]} at the end {n}" for n in range(50)])
        assert len(store.projections.vectors.shards_at(store.log.head)) == 3
        yield memory


def vector_of(text: str):
    return quantize(HashEmbedder().embed([text])[0])


@given(
    st.lists(st.tuples(st.integers(1, 120), st.sampled_from(WORDS)), min_size=1, max_size=6),
    st.integers(0, 50),
)
def test_a_vector_search_gives_the_same_whatever_was_searched_before(sealed, asked, back):
    projections = sealed.store.projections
    at = projections.position - back
    once, scanned = SharedSearch(projections, at, 0), SharedVectors(projections.vectors)
    for top, word in asked:
        alone = projections.vectors.search(vector_of(word), at=at, top=top)
        for shared in (once.vectors, scanned):
            hits = shared.search(vector_of(word), at=at, top=top)
            assert hits.rows.tolist() == alone.rows.tolist()
            assert hits.cosines.tolist() == alone.cosines.tolist()
            assert hits.sources == alone.sources


@given(st.lists(st.integers(0, 60), min_size=2, max_size=8), st.sampled_from(WORDS))
def test_moments_in_any_order_share_a_scan_and_find_their_own(sealed, backs, word):
    vectors = sealed.store.projections.vectors
    scanned = SharedVectors(vectors)
    for back in backs:
        at = sealed.store.projections.position - back
        alone, shared = (one.search(vector_of(word), at=at, top=40) for one in (vectors, scanned))
        assert shared.rows.tolist() == alone.rows.tolist()
        assert shared.dots.tolist() == alone.dots.tolist()


def test_equally_wide_walks_through_a_shard_are_made_once(sealed, monkeypatch):
    walks = []
    nearest = Shard.nearest
    monkeypatch.setattr(Shard, "nearest", lambda self, query, k: walks.append(k) or nearest(self, query, k))
    projections = sealed.store.projections
    once = SharedSearch(projections, projections.position, 0)
    for top in (10, 20, 30):  # 20 rows wide each, which three shards share by (1/3) ** (3/4)
        once.vectors.search(vector_of("tea"), at=projections.position, top=top)
    narrow = [width for width in walks if width == 9]
    assert len(narrow) == 3
