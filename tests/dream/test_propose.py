"""A dream proposes duplicates and contradictions; until one is accepted no ranking changes."""

from __future__ import annotations

import pytest

from recollect.events.errors import InvalidInput
from recollect.events.facts import Linked, Superseded

QUERY = "when do deploys happen?"


@pytest.fixture
def told(memory):
    memory.remember("Deploys happen on Tuesdays", id="tuesdays")
    memory.remember("The login page sets the auth cookie", id="cookie")
    memory.recall(QUERY, k=1)
    memory.remember("Deploys happen on Fridays", id="fridays")
    memory.remember("the login page sets the auth cookie", id="again")
    return memory


def dreamt(memory, **options):
    return memory.dream(phases=["propose"], **options)


def test_the_preview_says_how_many_recorded_answers_each_proposal_would_change(told):
    head = told.status().head
    (phase,) = dreamt(told, dry_run=True).phases
    assert {(one.id, one.after) for one in phase.changes} == {
        ("fridays", "contradiction"),
        ("again", "duplicate"),
    }
    assert all("of the last recorded answers" in one.why for one in phase.changes)
    assert told.status().head == head
    assert told.proposals() == []


def test_a_proposal_is_recorded_and_changes_no_ranking(told):
    before = [(hit.id, hit.score) for hit in told.recall(QUERY, record=False, now="2026-03-01").hits]
    dreamt(told)
    assert [(hit.id, hit.score) for hit in told.recall(QUERY, record=False, now="2026-03-01").hits] == before
    found = {one.kind: one for one in told.proposals()}
    assert (found["contradiction"].new, found["contradiction"].old) == ("fridays", "tuesdays")
    assert (found["duplicate"].new, found["duplicate"].old) == ("again", "cookie")
    assert told.verify().exact


def test_the_count_is_that_of_the_recorded_questions_which_then_have_another_answer(told):
    dreamt(told)
    found = {one.kind: one for one in told.proposals()}
    asked = told.store.event(told.store.projections.adoptions.recalls.tolist()[0]).fact
    now = asked.question.now / 1_000_000
    before = [hit.id for hit in told.recall(QUERY, k=1, now=now, record=False).hits]
    told.proposals(accept=[found["duplicate"].id])
    after = [hit.id for hit in told.recall(QUERY, k=1, now=now, record=False).hits]
    assert found["duplicate"].answers == int(before != after)


def test_what_is_accepted_is_written_and_is_open_no_more(told):
    dreamt(told)
    found = {one.kind: one.id for one in told.proposals()}
    left = told.proposals(accept=[found["duplicate"]])
    assert [one.kind for one in left] == ["contradiction"]
    assert isinstance(told.store.event(told.status().head).fact, Superseded)
    assert told.proposals(accept=[found["contradiction"]]) == []
    edge = told.store.event(told.status().head).fact
    assert isinstance(edge, Linked)
    assert (edge.a, edge.b, edge.kind) == ("fridays", "tuesdays", "contradicts")
    with pytest.raises(InvalidInput, match="no open proposal"):
        told.proposals(accept=[found["duplicate"]])


def test_a_contradiction_may_be_accepted_as_one_that_supersedes(told):
    dreamt(told)
    (found,) = (one.id for one in told.proposals() if one.kind == "contradiction")
    told.proposals(accept=[found], supersede=True)
    assert told.get("tuesdays").state.superseded_by == "fridays"


def test_a_pair_is_proposed_once_and_again_only_if_its_dream_was_taken_back(told):
    report = dreamt(told)
    assert dreamt(told).counts == {"propose": 0}
    told.undream(report.id)
    assert told.proposals() == []


def test_a_setting_turns_it_off_and_other_projects_and_subjects_are_left_alone(memory):
    memory.remember("Deploys happen on Tuesdays", id="a", project="web")
    memory.remember("Deploys happen on Fridays", id="b", project="shop")
    memory.remember("Auth sessions live in Postgres", id="c", project="web")
    assert dreamt(memory, dry_run=True).counts == {"propose": 0}
    memory.remember("Deploys happen on Mondays", id="d", project="web")
    assert dreamt(memory, dry_run=True).counts == {"propose": 1}
    assert dreamt(memory, dry_run=True, settings={"propose": {"pairs_max": 0}}).counts == {"propose": 0}
