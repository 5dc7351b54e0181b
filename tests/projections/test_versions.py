"""Versions: which record of an owner stood at a position."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recollect.projections.columns import Versions

OWNERS = 5

histories = st.lists(st.tuples(st.integers(0, OWNERS - 1), st.integers(0, 2)), max_size=120)


def build(steps: list[tuple[int, int]]) -> tuple[Versions, dict[int, list[tuple[int, int]]], int]:
    """The same history as Versions and as plain lists of (seq, value)."""
    versions, plain, seq = Versions([("value", "q")]), {owner: [] for owner in range(OWNERS)}, 1
    for value, (owner, advance) in enumerate(steps):
        seq += advance
        versions.append(owner, seq, value)
        if plain[owner] and plain[owner][-1][0] == seq:
            plain[owner].pop()
        plain[owner].append((seq, value))
    return versions, plain, seq


@given(histories)
def test_the_version_at_a_seq_is_the_one_that_bisection_finds(steps):
    versions, plain, head = build(steps)
    for seq in range(head + 2):
        nodes = versions.at(np.arange(OWNERS), seq)
        for owner, node in enumerate(nodes.tolist()):
            place = bisect_right(plain[owner], seq, key=lambda version: version[0]) - 1
            found = None if node < 0 else (versions.seq(node), *versions.values(node))
            assert found == (None if place < 0 else plain[owner][place])


@given(histories)
def test_a_chain_lists_all_versions_oldest_first(steps):
    versions, plain, _ = build(steps)
    for owner in range(OWNERS):
        chain = versions.chain(owner)
        assert [(versions.seq(node), *versions.values(node)) for node in chain] == plain[owner]


@given(histories, histories)
def test_a_loaded_history_goes_on_as_the_dumped_one(steps, more):
    whole, _, head = build(steps + more)
    half, _, seq = build(steps)
    loaded = Versions([("value", "q")])
    loaded.load("v", {name: array.copy() for name, array in half.dump("v").items()})
    for value, (owner, advance) in enumerate(more, start=len(steps)):
        seq += advance
        loaded.append(owner, seq, value)
    assert seq == head
    assert loaded.table.array.tolist() == whole.table.array.tolist()


def test_finding_an_old_version_takes_few_steps_however_long_the_history():
    versions = Versions([("value", "q")])
    for seq in range(1, 50_001):
        versions.append(0, seq, seq)
    jumps, prevs, seqs = (versions.column(name) for name in ("jump", "prev", "seq"))
    node, steps, wanted = versions.latest(0), 0, 17
    while seqs[node] > wanted:
        node = jumps[node] if jumps[node] >= 0 and seqs[jumps[node]] > wanted else prevs[node]
        steps += 1
    assert seqs[node] == wanted
    assert steps <= 3 * 16  # log2(50,000) is under 16


def test_an_owner_without_versions_has_no_version_at_any_seq():
    versions = Versions([("value", "q")])
    versions.append(3, 7, 1)
    assert versions.at(np.array([0, 3, 9]), 7).tolist() == [-1, 0, -1]
    assert [versions.latest(owner) for owner in (0, 3, 9)] == [-1, 0, -1]


def test_reading_a_value_gives_the_default_where_there_is_no_version():
    versions = Versions([("value", "d")])
    nodes = np.array([-1, 0], dtype=np.int32)
    assert versions.read(nodes[:1], "value", 0.5).tolist() == [0.5]
    versions.append(0, 1, 0.25)
    assert versions.read(nodes, "value", 0.5).tolist() == [0.5, 0.25]
