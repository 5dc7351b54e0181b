"""A year in small: daily sessions, a dream every night."""

from __future__ import annotations

import pytest

DAYS = 60
PER_DAY = 10


@pytest.fixture
def year(memory, clock):
    for day in range(DAYS):
        for number in range(PER_DAY - 3):
            kind = ("note", "session", "decision", "bug", "config", "preference", "heuristic")[number]
            memory.remember(
                f"{kind} {number} of day {day} says w{day * number % 97}", kind=kind, session=f"day{day}"
            )
        memory.remember(f"rule {day}", id=f"tagged{day}", importance_tag="Explicit")
        for twin in ("used", "idle"):
            memory.remember(f"twin of day {day}", id=f"{twin}{day}", kind="reference", session=f"day{day}")
        clock.pass_hours(8)
        used = [f"used{day - back}" for back in (1, 4, 9, 16) if day >= back]
        if used:
            memory.access(used, f"day{day}")
        memory.recall(f"w{day}", session=f"day{day}", k=3)
        clock.pass_hours(16)
        memory.dream()
    return memory


def test_after_a_year_strengths_are_in_range_nothing_tagged_is_lost_and_use_counts(year):
    strengths = [memo.state.strength for memo in year.memories()]
    assert len(strengths) < DAYS * PER_DAY  # something was pruned
    assert min(strengths) >= 0.01
    assert max(strengths) <= 1.0
    for day in range(DAYS):
        assert year.get(f"tagged{day}").visible
    for day in range(DAYS - 6):
        hits = [hit.id for hit in year.recall(f"twin of day {day}", k=500, record=False).hits]
        assert f"idle{day}" not in hits[: hits.index(f"used{day}")], day
    assert len(year._store.projections.adoptions.dreams) == DAYS
    assert year.verify().exact
