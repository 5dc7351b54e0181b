"""The memories accessed most often by a seq, against plain counting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.events.facts import Accessed
from recollect.projections.lifecycle.usage import Usage

ACCESS = Accessed(ids=("x",), at=0)


def counted(accesses: list[int], top: int) -> list[int]:
    """Most accesses first, then who got there first."""
    last = {memory: seq for seq, memory in enumerate(accesses)}
    return sorted(last, key=lambda memory: (-accesses.count(memory), last[memory]))[:top]


def usage_of(accesses: list[int], usage: Usage | None = None, first: int = 1) -> Usage:
    usage = Usage() if usage is None else usage
    for seq, memory in enumerate(accesses, first):
        while len(usage.born_in) <= memory:
            usage.born(-1)
        usage.accessed(memory, seq, -1, ACCESS)
    return usage


@given(st.lists(st.integers(0, 5), max_size=120), st.data())
def test_the_most_accessed_at_any_seq(accesses: list[int], data: st.DataObject):
    seq, top = data.draw(st.integers(0, len(accesses))), data.draw(st.integers(1, 8))
    usage = usage_of(accesses)
    assert usage.popularity.most_accessed(seq, top).tolist() == counted(accesses[:seq], top)


@given(st.lists(st.integers(0, 5), max_size=90), st.integers(0, 90))
def test_asking_in_between_and_loading_change_nothing(accesses: list[int], cut: int):
    usage = usage_of(accesses[:cut])
    usage.popularity.most_accessed(cut, 3)
    usage_of(accesses[cut:], usage, first=len(accesses[:cut]) + 1)
    assert usage.popularity.most_accessed(len(accesses), 3).tolist() == counted(accesses, 3)
    loaded = Usage()
    loaded.load("usage", usage.dump("usage"))
    assert loaded.popularity.most_accessed(len(accesses), 3).tolist() == counted(accesses, 3)
