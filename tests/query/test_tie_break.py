"""The order of equals: where scores are the same to 12 digits and no stage says otherwise, the memory id decides."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from small_world import World, memory

from recollect.query.formula import Formula, build

IDS = st.lists(st.text("abyz019-Äß", min_size=1, max_size=6), min_size=2, max_size=8, unique=True)


def weighing(column: str) -> Formula:
    stages = [{"op": "retrieve", "channel": "lexical"}, {"op": "weigh", "weights": {column: 1.0}}]
    return build({"name": "test", "stages": stages}, origin="test")


@given(ids=IDS)
def test_equal_scores_stand_in_the_order_of_their_ids_whatever_the_order_of_birth(ids: list[str]):
    ranking = World(*(memory(id_, "green tea") for id_ in ids)).rank(weighing("lexical"), "tea", k=len(ids))
    assert len(set(ranking.scores)) == 1
    assert list(ranking.ids) == sorted(ids)


@given(ids=IDS, k=st.integers(1, 8))
def test_of_equals_the_lower_ids_are_the_ones_returned(ids: list[str], k: int):
    ranking = World(*(memory(id_, "green tea") for id_ in ids)).rank(weighing("lexical"), "tea", k=k)
    assert list(ranking.ids) == sorted(ids)[:k]


def test_scores_that_differ_only_beyond_the_twelfth_digit_are_equal():
    assert 0.1 + 0.2 > 0.3
    facts = (memory("b", "green tea", importance=0.1 + 0.2), memory("a", "green tea", importance=0.3))
    ranking = World(*facts).rank(weighing("importance"), "tea")
    assert (ranking.ids, ranking.scores) == (("a", "b"), (0.3, 0.3))


def test_a_higher_score_goes_before_a_lower_id():
    facts = (memory("a", "green tea", importance=0.3), memory("b", "green tea", importance=0.300000000001))
    assert World(*facts).rank(weighing("importance"), "tea").ids == ("b", "a")
