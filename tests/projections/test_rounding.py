from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.portable_math import ROUNDING_MARGIN, round12, round12_array

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)


def test_twelve_significant_digits_remain():
    assert round12(1 / 3) == 0.333333333333
    assert round12(123456.7890123456) == 123456.789012
    assert round12(-2e-6 / 3) == -6.66666666667e-07


def test_sums_that_differ_in_their_last_bits_become_equal():
    assert 0.1 + 0.2 != 0.3
    assert round12(0.1 + 0.2) == round12(0.3)


@given(finite)
def test_rounding_again_changes_nothing(x: float):
    assert round12(round12(x)) == round12(x)


@given(finite)
def test_rounding_moves_a_score_by_less_than_half_the_margin(x: float):
    assert abs(round12(x) - x) <= ROUNDING_MARGIN / 2 * abs(x)


decimals = st.builds(
    lambda digits, power: float(f"{digits}e{power}"), st.integers(-(10**14), 10**14), st.integers(-40, 20)
)
halves = st.builds(
    lambda whole, power: float(f"{whole}.5e{power}"), st.integers(10**11, 10**12), st.integers(-30, 12)
)


@given(st.lists(st.floats() | finite | decimals | halves))
def test_an_array_is_rounded_element_by_element_to_the_same_bits(values: list[float]):
    expected = np.array([round12(x) for x in values], dtype=np.float64)
    assert round12_array(np.array(values, dtype=np.float64)).tobytes() == expected.tobytes()


def test_ten_to_the_twenty_second_is_an_exact_float():
    assert int(10.0**22) == 10**22
