"""The grid: what is refused, how close it is to the truth, and that its arithmetic has one answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.events.errors import InvalidInput
from recollect.events.grid import (
    GRID,
    NORM2_MAX,
    GridArray,
    cosine,
    cosine_of,
    cosines,
    from_bytes,
    norm2,
    quantize,
    to_bytes,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
directions = st.lists(finite, min_size=1, max_size=40).filter(any)
seeds = st.integers(0, 2**32 - 1)


def random_points(seed: int, count: int, dimensions: int) -> GridArray:
    rng = np.random.default_rng(seed)
    return np.array([quantize(v) for v in rng.standard_normal((count, dimensions))])


def test_a_vector_is_normalised_scaled_and_truncated_toward_zero():
    assert quantize([3.0, -4.0]).tolist() == [int(4096 * 3 / 5), -int(4096 * 4 / 5)]


def test_an_axis_uses_the_whole_grid():
    assert quantize([0.0, -7.5]).tolist() == [0, -GRID]


@given(directions)
def test_the_norm_is_never_above_the_grid(vector):
    assert 0 < norm2(quantize(vector)) <= NORM2_MAX


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=30).filter(any),
    st.sampled_from([2.0**-1000, 0.5, 2.0**900]),
)
def test_only_the_direction_counts(vector, scale):
    assert quantize([x * scale for x in vector]).tolist() == quantize(vector).tolist()


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([0.1, math.nan, 0.2], "nan at position 1"),
        ([0.1, 0.2, -math.inf], "-inf at position 2"),
        ([0.0, 0.0], "all 2 numbers"),
        ([], "empty"),
        ([[1.0, 2.0]], "shape"),
        (3.0, "shape"),
        (["a", "b"], "'a'"),
        ([1.0, None], "object"),
        ([True, False], "bool"),
        ([[1.0], [1.0, 2.0]], "flat list"),
    ],
)
def test_what_has_no_direction_is_refused_with_its_reason(vector, words):
    with pytest.raises(InvalidInput, match=words):
        quantize(vector)


def test_wrong_dimensions_name_both_numbers():
    with pytest.raises(InvalidInput, match="has 2 dimensions, but 3 are expected"):
        quantize([1.0, 2.0], dimensions=3)


@given(directions)
def test_bytes_give_the_vector_back(vector):
    point = quantize(vector)
    assert from_bytes(to_bytes(point)).tolist() == point.tolist()


def test_bytes_are_little_endian():
    assert to_bytes(np.array([1, -2], dtype=np.int16)) == b"\x01\x00\xfe\xff"


def test_half_a_number_is_refused():
    with pytest.raises(InvalidInput, match="3 bytes"):
        from_bytes(b"abc")


@given(seeds, st.integers(1, 50), st.integers(1, 400), st.integers(1, 60))
def test_a_dot_product_has_one_value_however_it_is_computed(seed, count, dimensions, block):
    points = random_points(seed, count, dimensions)
    query = random_points(seed + 1, 3, dimensions)
    exact = points.astype(np.int64) @ query.astype(np.int64).T
    floats, query_floats = points.astype(np.float32), query.astype(np.float32)
    order = np.random.default_rng(seed).permutation(dimensions)
    ways = {
        "gemm": floats @ query_floats.T,
        "gemv": np.stack([floats @ q for q in query_floats], axis=1),
        "blocks": np.concatenate([floats[n : n + block] @ query_floats.T for n in range(0, count, block)]),
        "shuffled": floats[:, order] @ query_floats[:, order].T,
        "one by one": np.cumsum(floats[:, None, :] * query_floats[None], axis=2, dtype=np.float32)[:, :, -1],
    }
    for way, dots in ways.items():
        assert dots.dtype == np.float32
        assert (dots.astype(np.int64) == exact).all(), way


@given(directions)
def test_a_vector_has_cosine_exactly_one_with_itself(vector):
    point = quantize(vector)
    assert cosine_of(point, point) == 1.0
    assert cosine_of(point, (-point).astype(np.int16)) == -1.0


@given(st.integers(-NORM2_MAX, NORM2_MAX), st.integers(1, NORM2_MAX), st.integers(1, NORM2_MAX))
def test_one_cosine_and_many_have_the_same_bits(dot, a, b):
    many = cosines(np.array([dot], dtype=np.int64), a, np.array([b], dtype=np.int32))
    assert many.tolist() == [cosine(dot, a, b)] == [dot / math.sqrt(Fraction(a) * b)]


@given(seeds)
def test_cosines_of_embeddings_are_close_to_the_true_ones(seed):
    a, b = np.random.default_rng(seed).standard_normal((2, 384))
    b += np.random.default_rng(seed + 1).uniform(0, 2) * a
    true = float(a @ b / math.sqrt((a @ a) * (b @ b)))
    assert abs(cosine_of(quantize(a), quantize(b)) - true) < 1e-3


@given(st.data(), st.integers(1, 40))
def test_no_cosine_is_further_off_than_truncation_can_take_it(data, dimensions):
    sides = st.lists(st.integers(-1000, 1000), min_size=dimensions, max_size=dimensions).filter(any)
    a, b = data.draw(sides), data.draw(sides)
    true = sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(
        sum(x * x for x in a) * sum(y * y for y in b)
    )
    assert abs(cosine_of(quantize(a), quantize(b)) - true) <= 4 * math.sqrt(dimensions) / GRID
