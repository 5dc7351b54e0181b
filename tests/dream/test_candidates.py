"""Staleness and signal, as arithmetic over what the lifecycle counts."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import DAY

from recollect.dream.candidates import Candidates, elapsed_days
from recollect.dream.phase import PhaseInput
from recollect.dream.settings import default_settings


@pytest.fixture
def rows(memory, clock):
    """A bug and a reference: read twice, revised once, ten days old, and idle for six."""
    for kind in ("bug", "reference"):
        memory.remember(f"a {kind}", id=kind, kind=kind)
    born = clock.now
    clock.pass_days(4)
    for kind in ("bug", "reference"):
        memory.revise(kind, f"a {kind} again")
        memory.access([kind], "s", "used")
        memory.access([kind], "s", "used")
    view = memory.store.view()
    candidates = Candidates(
        PhaseInput(view, default_settings(), born + 10 * DAY, "d", 0, recorded_at=lambda _: 0)
    )
    found = candidates.ask("SELECT * FROM memories ORDER BY memory")
    assert all(row["idle_days"] == pytest.approx(6.0, abs=1e-3) for row in found)
    return found


def test_staleness_is_idle_days_times_the_decay_of_the_kind(rows):
    bug, reference = rows
    assert bug["staleness"] == bug["idle_days"] * (1 / 60)
    assert reference["staleness"] == 0.0


def test_signal_is_accesses_per_day_times_revisions_times_the_weight_of_the_kind(rows):
    bug, reference = rows
    assert (bug["accesses"], bug["revisions"]) == (2, 2)
    assert bug["signal"] == 2 / bug["age_days"] * 2.0 * 0.8
    assert reference["signal"] == 2 / reference["age_days"] * 2.0 * 1.2


def test_a_time_that_is_still_to_come_is_no_time_ago():
    assert elapsed_days(np.array([0, DAY, 5 * DAY]), 2 * DAY).tolist() == [2.0, 1.0, 0.0]
