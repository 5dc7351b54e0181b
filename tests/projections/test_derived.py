"""Staleness and signal, as arithmetic."""

from __future__ import annotations

import numpy as np
from strategies import DAY, log_of

from recollect.events.facts import Accessed, Ingested, Revised
from recollect.projections.documents import Documents
from recollect.projections.lifecycle.derived import DEFAULT_KIND, KINDS, kind_numbers, signal_at, staleness_at
from recollect.projections.lifecycle.lifecycle import Lifecycle

LOG = log_of(
    Ingested(id="bug", content="", at=0, kind="Bug"),
    Ingested(id="note", content="", at=2 * DAY, kind="whatever"),
    Revised(id="bug", at=DAY, content="x"),
    Accessed(ids=("bug",), at=4 * DAY),
    Accessed(ids=("bug", "note"), at=3 * DAY),
)


def lifecycle() -> Lifecycle:
    documents = Documents()
    folded = Lifecycle(documents)
    for recorded in LOG:
        documents.apply(recorded)
        folded.apply(recorded)
    return folded


def test_staleness_is_idle_days_times_the_decay_of_the_kind():
    columns = lifecycle().at(np.array([0, 1]), 5)
    assert staleness_at(columns, 10 * DAY).tolist() == [(10 - 4) * (1 / 60), (10 - 3) * (1 / 90)]


def test_what_was_never_accessed_is_idle_since_its_creation_and_never_less_than_zero_days():
    columns = lifecycle().at(np.array([0, 1]), 2)
    assert staleness_at(columns, DAY).tolist() == [(1 - 0) * (1 / 60), 0.0]


def test_signal_is_accesses_per_day_times_revisions_times_the_weight_of_the_kind():
    columns = lifecycle().at(np.array([0, 1]), 5)
    assert signal_at(columns, 10 * DAY).tolist() == [(2 / 10) * 2 * 0.8, (1 / 8) * 1 * 1.0]


def test_a_memory_younger_than_a_day_counts_as_a_day_old():
    columns = lifecycle().at(np.array([0]), 5)
    assert signal_at(columns, DAY // 2).tolist() == [(2 / 1) * 2 * 0.8]


def test_kinds_are_found_in_any_case_and_unlisted_ones_get_the_default():
    assert kind_numbers("Directive") == KINDS["directive"]
    assert kind_numbers("recipe") == DEFAULT_KIND


def test_a_memory_that_does_not_exist_yet_has_the_default_kind():
    columns = lifecycle().at(np.array([1]), 1)
    assert signal_at(columns, DAY).tolist() == [0.0]
