"""Each factor against its document's own arithmetic."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.query.catalogue import FACTORS, complete, range_of
from recollect.query.factors.factor import SIGNATURES
from recollect.query.factors.usage import depth_weight, strength
from recollect.query.formula import built_in, names
from recollect.query.inputs import INPUTS
from recollect.query.stages.retrieving import CHANNELS

# Version 1, which computes with `math`; tests/query/test_versions.py has the other.
recency_boost, session_spread, stability = (
    FACTORS[name] for name in ("recency_boost", "session_spread", "stability")
)


def values(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=np.float64)


def test_a_new_memory_gets_the_whole_recency_boost_and_an_old_one_none():
    assert recency_boost(values(0.0, 30.0, 3000.0)).tolist() == [
        1.0 + 0.3 * math.exp(-0.0 / 30.0),
        1.0 + 0.3 * math.exp(-30.0 / 30.0),
        1.0 + 0.3 * math.exp(-3000.0 / 30.0),
    ]


def test_strength_is_a_plain_multiplier():
    assert strength(values(1.0, 0.95, 0.01)).tolist() == [1.0, 0.95, 0.01]


def test_depth_weights_are_0_8_and_1_and_1_2():
    assert depth_weight(values(1, 2, 3)).tolist() == [0.8, 1.0, 1.2]


def test_a_spread_of_1_3_and_7_sessions_weighs_1_2_and_3():
    assert session_spread(values(1)).tolist() == [1.0]
    assert session_spread(values(3, 7)) == pytest.approx([2.0, 3.0], abs=1e-15)
    assert session_spread(values(5)).tolist() == [math.log(1 + 5) / math.log(2)]


def test_stability_compares_ebbinghaus_retention_with_that_of_stability_1():
    t, S = 10.0, 4.0
    expected = 1.0 + 0.3 * (math.exp(-t / (30.0 * S)) - math.exp(-t / 30.0))
    assert stability(values(t), values(S)).tolist() == [expected]


def test_nothing_is_retained_at_stability_0():
    assert stability(values(15.0), values(0.0)).tolist() == [1.0 + 0.3 * (0.0 - math.exp(-15.0 / 30.0))]


@given(st.floats(0, 1e5), st.floats(0, 1e5))
def test_stability_is_neutral_at_1_and_bounded(idle_days: float, S: float):
    assert stability(values(idle_days), values(1.0)).tolist() == [1.0]
    (factor,) = stability(values(idle_days), values(S)).tolist()
    assert 1.0 - 0.3 <= factor <= 1.0 + 0.3


def test_every_lifecycle_factor_is_exactly_1_for_a_memory_that_never_dreamt():
    neutral = {
        "strength": 1.0,
        "depth_score": 2.0,
        "session_spread": 1.0,
        "stability": 1.0,
        "idle_days": 77.0,
    }
    for name in (
        "strength",
        "depth_weight",
        "session_spread",
        "stability",
        "session_spread/2",
        "stability/2",
    ):
        inputs = [values(neutral[column]) for column in SIGNATURES[name].inputs]
        assert FACTORS[name](*inputs).tolist() == [1.0], name


def written_by_built_in_formulas() -> set[str]:
    """The columns that stages write beside those of channels."""
    stages = [stage for formula in names() for stage in built_in(formula).stages]
    named = {getattr(stage, "name", "") or getattr(stage, "channel", "") for stage in stages}
    return named | {"word_ratio", "word_overlap"}


@pytest.mark.parametrize("name", FACTORS)
def test_every_factor_reads_inputs_that_exist_and_says_what_it_is(name: str):
    assert set(SIGNATURES[name].inputs) <= set(INPUTS) | set(CHANNELS) | written_by_built_in_formulas()
    assert (inspect.getdoc(FACTORS[name]) or "").split("\n", 1)[0].endswith(".")
    assert complete(name, {}) == complete(name, complete(name, {}))


@pytest.mark.parametrize("name", FACTORS)
@given(data=st.data())
def test_every_factor_stays_in_the_range_that_it_declares(name: str, data: st.DataObject):
    least = {"session_spread": 1.0}  # a memory was made in one session
    inputs = [
        np.array(data.draw(st.lists(st.floats(least.get(column, 0.0), 10.0), min_size=3, max_size=3)))
        if column in ("access_count", "age_days", "age_hours", "degree", "idle_days", "session_spread")
        else np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3)))
        for column in SIGNATURES[name].inputs
    ]
    parameters = complete(name, {})
    low, high = range_of(name, parameters)
    with np.errstate(over="ignore"):  # as in a ranking
        values = FACTORS[name](*inputs, **parameters, **dict.fromkeys(SIGNATURES[name].dials, 1.5))
    assert all(low <= value <= high for value in values[~np.isnan(values)].tolist())


def test_a_declared_range_follows_the_parameters():
    assert range_of("cluster_boost", complete("cluster_boost", {"boost_max": 0.5})) == (1.0, 1.5)
    assert range_of("temporal_fit", complete("temporal_fit", {})) == (0.15, 1.3)
    assert range_of("thompson_boost", complete("thompson_boost", {"low": 1.1, "span": 0.4})) == (
        1.0,
        1.1 + 0.4,
    )
