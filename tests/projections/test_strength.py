"""Strength after global downscales: the definition, folded naively, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.events.facts import Downscaled
from recollect.projections.lifecycle.strength import Downscales

factors = st.floats(0.0, 1.25) | st.sampled_from((0.95, 0.9, 1.0))
floors = st.sampled_from((0.0, 0.01, 0.3))
steps = st.lists(st.tuples(factors, factors, floors, st.none() | st.integers(1, 4)), max_size=25)


def build(
    drawn: list[tuple[float, float, float, int | None]],
) -> tuple[Downscales, list[tuple[int, Downscaled]]]:
    """Downscales at the seqs 10, 20, 30, …, some of which undo the n-th last one."""
    events = [
        (
            10 * (n + 1),
            Downscaled(
                dream="d",
                factor=factor,
                tagged_factor=tagged_factor,
                floor=floor,
                undoes=None if back is None or back > n else 10 * (n + 1 - back),
            ),
        )
        for n, (factor, tagged_factor, floor, back) in enumerate(drawn)
    ]
    downscales = Downscales()
    for seq, fact in events:
        downscales.append(seq, fact)
    return downscales, events


def counting(events: list[tuple[int, Downscaled]], seq: int) -> list[tuple[int, Downscaled]]:
    """The downscales up to `seq` that nothing that counts undoes."""
    counted: list[tuple[int, Downscaled]] = []
    for at, fact in reversed([event for event in events if event[0] <= seq]):
        if at not in {later.undoes for _, later in counted}:
            counted.append((at, fact))
    return counted[::-1]


def naive(
    events: list[tuple[int, Downscaled]],
    base: float,
    since: int,
    seq: int,
    *,
    flips: Sequence[int] = (),
    tagged: bool = False,
) -> float:
    """The definition in `strength.py`, one memory, one event after the other, newest first."""
    floor, scale = float("-inf"), 1.0
    for at, fact in reversed(counting(events, seq)):
        if at > since:
            tagged_then = tagged ^ (sum(flip <= at for flip in flips) % 2 == 1)
            floor = max(floor, scale * fact.floor)
            scale = scale * (fact.tagged_factor if tagged_then else fact.factor)
    return max(floor, scale * base)


@given(steps, st.floats(0.0, 1.0), st.integers(0, 260), st.integers(0, 270), st.booleans())
def test_many_strengths_at_once_are_the_naive_fold_bit_for_bit(drawn, base, since, seq, tagged):
    downscales, events = build(drawn)
    expected = naive(events, base, min(since, seq), seq, tagged=tagged)
    found = downscales.strengths(
        np.array([base, 1.0]), np.array([min(since, seq), 0]), np.array([tagged, False]), seq
    )
    assert found.tolist() == [expected, naive(events, 1.0, 0, seq)]


@given(
    steps,
    st.floats(0.0, 1.0),
    st.tuples(st.integers(0, 270), st.integers(0, 270)).map(sorted),
    st.lists(st.integers(0, 26).map(lambda n: 10 * n + 5), unique=True, max_size=5).map(sorted),
    st.booleans(),
)
def test_a_memory_whose_tag_comes_and_goes_follows_the_tag_of_each_moment(drawn, base, span, flips, tagged):
    downscales, events = build(drawn)
    since, seq = span
    tagged_at_seq = tagged ^ (sum(flip <= seq for flip in flips) % 2 == 1)
    found = downscales.strength(base, since, tagged_at_seq, flips, seq)
    assert found == naive(events, base, since, seq, flips=flips, tagged=tagged)


@given(steps, st.floats(0.0, 1.0), st.integers(0, 270))
def test_the_definition_is_the_step_by_step_product_up_to_rounding(drawn, base, seq):
    downscales, events = build(drawn)
    exact = Fraction(base)
    for _, fact in counting(events, seq):
        exact = max(Fraction(fact.floor), Fraction(fact.factor) * exact)
    [found] = downscales.strengths(np.array([base]), np.array([0]), np.array([False]), seq).tolist()
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_equal_factors_from_one_give_exactly_the_repeated_product():
    downscales, _ = build([(0.95, 0.98, 0.01, None)] * 3)
    found = downscales.strengths(np.ones(2), np.zeros(2, dtype=np.int64), np.array([False, True]), 30)
    assert found.tolist() == [1.0 * 0.95 * 0.95 * 0.95, 1.0 * 0.98 * 0.98 * 0.98]


def test_a_year_of_downscales_ends_at_the_floor():
    downscales, _ = build([(0.95, 0.98, 0.01, None)] * 365)
    assert downscales.strengths(
        np.ones(1), np.zeros(1, dtype=np.int64), np.array([False]), 9_999
    ).tolist() == [0.01]


def test_an_undone_downscale_counts_until_it_is_undone_and_again_when_that_is_undone():
    downscales, _ = build([(0.5, 0.5, 0.0, None), (1.0, 1.0, 0.0, 1), (1.0, 1.0, 0.0, 1)])
    at = [
        downscales.strengths(np.ones(1), np.zeros(1, dtype=np.int64), np.array([False]), s)[0]
        for s in (10, 20, 30)
    ]
    assert at == [0.5, 1.0, 0.5]
    assert [downscales.counting(0, seq) for seq in (10, 20, 30)] == [[10], [20], [10, 30]]


def test_a_strength_set_between_two_downscales_meets_only_the_second():
    downscales, _ = build([(0.5, 0.5, 0.0, None), (0.25, 0.25, 0.0, None)])
    found = downscales.strengths(np.array([0.8, 0.8]), np.array([10, 9]), np.zeros(2, dtype=np.bool_), 20)
    assert found.tolist() == [0.8 * 0.25, 0.8 * 0.25 * 0.5]


@given(steps, steps, st.integers(0, 520))
def test_loaded_downscales_go_on_as_the_dumped_ones(drawn, more, seq):
    whole, events = build(drawn + more)
    half, _ = build(drawn)
    ones, zeros, untagged = np.ones(1), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    loaded, _ = build([(0.5, 0.5, 0.0, None)] * len(drawn + more))
    loaded.strengths(ones, zeros, untagged, seq)  # what it held before must leave no trace
    loaded.load("s", {name: array.copy() for name, array in half.dump("s").items()})
    for at, fact in events[len(drawn) :]:
        loaded.append(at, fact)
    assert loaded.strengths(ones, zeros, untagged, seq) == whole.strengths(ones, zeros, untagged, seq)
