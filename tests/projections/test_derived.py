"""Staleness and signal, as arithmetic."""

from __future__ import annotations

import numpy as np
from strategies import DAY

from recollect.projections.lifecycle.derived import elapsed_days, signal, staleness


def test_staleness_is_idle_days_times_the_decay_of_the_kind():
    assert staleness(idle_days=10.0 - 4.0, decay_per_day=1 / 60) == (10 - 4) * (1 / 60)
    assert staleness(idle_days=400.0, decay_per_day=0.0) == 0.0


def test_signal_is_accesses_per_day_times_revisions_times_the_weight_of_the_kind():
    assert signal(accesses_per_day=2 / 10, revision_count=2.0, weight=0.8) == (2 / 10) * 2 * 0.8


def test_a_time_that_is_still_to_come_is_no_time_ago():
    assert elapsed_days(np.array([0, DAY, 5 * DAY]), 2 * DAY).tolist() == [2.0, 1.0, 0.0]
