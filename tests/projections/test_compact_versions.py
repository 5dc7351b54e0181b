"""Accesses in a checkpoint are small, and come back as they were, links included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.columns import Versions
from recollect.projections.compact_versions import dump_compact, load_compact

FIELDS = [("accesses", "i"), ("last_access_at", "q"), ("last_recall", "q")]
COUNTERS = frozenset({"accesses"})
times = st.integers(-(2**63), 2**63 - 1)
records = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 9), times, times), max_size=80
)


def history(told: list[tuple[int, int, int, int, int]]) -> Versions:
    versions, seq = Versions(FIELDS), 0
    for owner, step, *values in told:
        seq += step
        versions.append(owner, seq, *values)
    return versions


@given(told=records, later=records)
def test_a_history_comes_back_as_it_was_and_goes_on(told: list, later: list):
    one = history(told)
    two = Versions(FIELDS)
    load_compact(two, "u", dump_compact(one, "u", COUNTERS), COUNTERS)
    assert two.table.array.tolist() == one.table.array.tolist()
    seq = one.seq(len(one) - 1) if len(one) else 0
    for owner, step, *values in later:
        seq += step
        one.append(owner, seq, *values)
        two.append(owner, seq, *values)
    assert two.table.array.tolist() == one.table.array.tolist()
    assert [two.latest(owner) for owner in range(7)] == [one.latest(owner) for owner in range(7)]


def test_a_record_of_an_access_takes_a_fifth_of_what_it_takes_in_memory():
    versions, counts, random = Versions(FIELDS), [0] * 1_000, np.random.default_rng(7)
    for seq in range(1, 2_001):
        for owner in random.choice(1_000, 10, replace=False).tolist():
            counts[owner] += 1
            versions.append(owner, 3 * seq, counts[owner], 1_770_000_000_000_000 + seq * 8_640_000, -1)
    state = dump_compact(versions, "u", COUNTERS)
    assert len(versions) == 20_000
    assert 5 * sum(len(bytes(value)) for value in state.values()) < versions.table.array.nbytes
