"""Hard filters: which memories a question may see, as a mask and in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DAY, IDS, log_of, logs, projects, sessions, shares, tag_sets

from recollect.events.envelope import Recorded
from recollect.events.facts import Filters, Ingested, Revised
from recollect.projections.documents import Documents
from recollect.projections.lifecycle.lifecycle import Lifecycle

MEMORY = Ingested(
    id="m", content="", at=10 * DAY, kind="note", importance=0.5, tags=("red", "blue"), entities=("Ann",),
    project="alpha", session="s0", source="cli", valid_from=20 * DAY, valid_to=30 * DAY, expires_at=90 * DAY,
)  # fmt: skip

maybe_days = st.none() | st.integers(0, 40).map(lambda days: days * DAY)
filters = st.builds(
    Filters,
    project=projects | st.just("unheard of"),
    session=sessions,
    kinds=st.lists(st.sampled_from(("note", "Bug", "unheard of")), max_size=2).map(tuple),
    tags=tag_sets,
    entities=tag_sets,
    sources=st.lists(st.sampled_from(("cli", "web")), max_size=2).map(tuple),
    since=maybe_days,
    until=maybe_days,
    valid_at=maybe_days,
    min_importance=st.none() | shares,
    unscoped=st.booleans(),
    exclude=st.lists(st.sampled_from((*IDS, "ghost")), max_size=2).map(tuple),
)


def folded(log: list[Recorded]) -> tuple[Documents, Lifecycle]:
    documents = Documents()
    lifecycle = Lifecycle(documents)
    for recorded in log:
        documents.apply(recorded)
        lifecycle.apply(recorded)
    return documents, lifecycle


def refusal(question: Filters, *, now: int = 0) -> str | None:
    """What is said about MEMORY; the mask must say the same."""
    _, lifecycle = folded(log_of(MEMORY))
    words = lifecycle.refusal(0, seq=1, now=now, filters=question)
    [admitted] = lifecycle.admissible(np.array([0]), seq=1, now=now, filters=question).tolist()
    assert admitted == (words is None)
    return words


@pytest.mark.parametrize(
    "question",
    [
        Filters(),
        Filters(project="alpha", session="s0", kinds=("other", "note"), sources=("cli",)),
        Filters(tags=("blue", "unheard of"), entities=("Ann",)),
        Filters(since=10 * DAY, until=10 * DAY + 1),
        Filters(valid_at=20 * DAY),
        Filters(valid_at=30 * DAY - 1),
        Filters(min_importance=0.5, exclude=("other",)),
    ],
)
def test_a_memory_within_every_bound_is_admitted(question):
    assert refusal(question) is None


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Filters(project="beta"), "project is 'alpha', the question asked for 'beta'"),
        (Filters(session="s1"), "session is 's0', the question asked for 's1'"),
        (Filters(kinds=("bug", "config")), "kind is 'note', the question asked for 'bug' or 'config'"),
        (Filters(sources=("web",)), "source is 'cli', the question asked for 'web'"),
        (Filters(tags=("green",)), "tags are 'blue', 'red', the question asked for 'green'"),
        (Filters(entities=("Bob",)), "entities are 'Ann', the question asked for 'Bob'"),
        (
            Filters(since=10 * DAY + 1),
            "created at 1970-01-11T00:00:00+00:00, the question asked for 1970-01-11T00:00:00.000001+00:00 or later",
        ),
        (
            Filters(until=10 * DAY),
            "created at 1970-01-11T00:00:00+00:00, the question asked for before 1970-01-11T00:00:00+00:00",
        ),
        (
            Filters(valid_at=DAY),
            "valid from 1970-01-21T00:00:00+00:00, the question asked about 1970-01-02T00:00:00+00:00",
        ),
        (
            Filters(valid_at=30 * DAY),
            "valid until 1970-01-31T00:00:00+00:00, the question asked about 1970-01-31T00:00:00+00:00",
        ),
        (Filters(min_importance=0.6), "importance is 0.5, the question asked for at least 0.6"),
        (Filters(exclude=("m",)), "the question excludes it by its id"),
    ],
)
def test_a_memory_outside_one_bound_is_refused_with_the_bound(question, words):
    assert refusal(question) == words


def test_a_question_about_its_own_clock_is_told_that_the_time_has_passed_or_not_come():
    assert refusal(Filters(valid_at=20 * DAY), now=20 * DAY) is None
    assert refusal(Filters(valid_at=DAY), now=DAY) == "not yet valid: only from 1970-01-21T00:00:00+00:00"
    assert (
        refusal(Filters(valid_at=30 * DAY), now=30 * DAY) == "no longer valid since 1970-01-31T00:00:00+00:00"
    )


def test_a_memory_is_expired_from_the_moment_it_expires_at():
    assert refusal(Filters(), now=90 * DAY - 1) is None
    assert refusal(Filters(), now=90 * DAY) == "expired at 1970-04-01T00:00:00+00:00"


def test_an_expiry_that_came_later_does_not_reach_back():
    _, lifecycle = folded(log_of(Ingested(id="x", content="", at=0), Revised(id="x", at=0, expires_at=DAY)))
    one = np.array([0])
    at = [lifecycle.admissible(one, seq=seq, now=2 * DAY, filters=Filters())[0] for seq in (1, 2)]
    assert at == [True, False]
    assert lifecycle.anything_expires


def test_a_memory_without_a_project_is_in_no_project():
    _, lifecycle = folded(log_of(Ingested(id="x", content="", at=0)))
    for project in ("alpha", ""):
        question = Filters(project=project)
        assert not lifecycle.admissible(np.array([0]), seq=1, now=0, filters=question)[0]
        assert lifecycle.refusal(0, seq=1, now=0, filters=question).startswith("project is None")


@settings(max_examples=60)
@given(logs(), filters, st.integers(0, 41).map(lambda days: days * DAY))
def test_the_words_and_the_mask_agree_at_every_seq(log, question, now):
    documents, lifecycle = folded(log)
    for seq in range(0, len(log) + 1, 7):
        born = [m for m in range(documents.memories) if documents.newest_row(m, seq) >= 0]
        mask = lifecycle.admissible(np.array(born, dtype=np.int64), seq=seq, now=now, filters=question)
        words = [lifecycle.refusal(memory, seq=seq, now=now, filters=question) for memory in born]
        assert mask.tolist() == [said is None for said in words]
