"""What a second formula is given without searching is what it would have found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.projections.bm25 import Bm25
from recollect.replay.once import SearchOnce

WORDS = ("tea", "kettle", "train", "rain", "green")
ANALYZER = "unicode61-cjk/1"


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
    once = SearchOnce(projections, projections.position, 0, depth=depth)
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
    once = SearchOnce(projections, projections.position, 0, depth=10)
    for top in (5, 10, 3, 20, 15):
        once.lexical(ANALYZER).search("tea", at=projections.position, bm25=Bm25(), top=top)
    assert len(searches) == 2  # ten at once, then twenty
