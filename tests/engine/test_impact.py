"""impact says which answers held a memory and what they would have been; stale, which should not have been given."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from recollect.engine.moments import micros
from recollect.events.errors import InvalidInput, UnknownMemory

QUERY = "where do auth sessions live?"


@pytest.fixture
def told(memory):
    memory.remember("auth sessions live in redis", id="redis")
    memory.remember("auth sessions have a cookie", id="cookie")
    memory.remember("deploys happen on tuesdays", id="deploys")
    return memory


def test_an_impact_lists_the_answers_that_held_it_newest_first_with_what_they_would_have_been(told):
    first = told.recall(QUERY, session="monday", k=1)
    told.recall("when do deploys happen?", session="monday", k=1)
    second = told.recall(QUERY, session="tuesday", k=2)
    told.access(["redis"], session="tuesday", how="used", recall=second.id)
    impact = told.impact("redis")
    assert [(one.recall, one.rank, one.without) for one in impact.answers] == [
        (second.id, 1, ("cookie", "deploys")),
        (first.id, 1, ("cookie",)),
    ]
    assert (impact.changed, impact.first_changed, impact.unknown, impact.used) == (2, 2, 0, 1)
    assert impact.sessions == {"tuesday": 1, "monday": 1}
    assert [one.entered for one in impact.answers] == [("deploys",), ("cookie",)]
    assert told.impact("deploys").answers[0].query == "when do deploys happen?"


def test_a_memory_that_was_only_shown_was_not_used(told):
    shown = told.recall(QUERY, k=1, track=False)
    told.access(["redis"], how="returned", recall=shown.id)
    assert told.impact("redis").used == 0
    told.access(["redis"], how="injected", recall=shown.id)
    assert told.impact("redis").used == 1


def test_an_answer_that_no_replay_gives_is_compared_by_its_replays_and_says_so(told):
    real = told.recall("when do deploys happen?", k=1)
    fact = told.store.event(int(real.id[1:])).fact
    told.store.append([replace(fact, ids=("redis",))])
    (answer,) = told.impact("redis").answers
    assert (answer.ids, answer.without) == (("redis",), ("deploys",))
    assert (answer.changed, answer.replayed) == (False, False)


def test_what_was_derived_from_a_memory_is_named_also_by_way_of_another(told):
    told.remember("a summary of redis", id="summary")
    told.remember("a summary of the summary", id="digest")
    told.link("summary", "redis", "derived_from")
    told.link("digest", "summary", "derived_from")
    assert [one.id for one in told.impact("redis").derived] == ["summary", "digest"]


def test_an_impact_writes_nothing_and_an_unknown_memory_is_refused(told):
    head = told.status().head
    assert told.impact("redis").answers == ()
    assert told.status().head == head
    with pytest.raises(UnknownMemory):
        told.impact("nobody")


def test_a_question_without_a_memory_records_nothing_and_shows_the_texts_of_the_others(told):
    head = told.status().head
    answer = told.recall(QUERY, without=["redis"])
    assert (answer.id, [hit.content for hit in answer.hits]) == (
        None,
        ["auth sessions have a cookie", "deploys happen on tuesdays"],
    )
    assert told.status().head == head
    assert [hit.id for hit in told.at(f"@{head}").recall(QUERY, k=1, without="redis").hits] == ["cookie"]
    assert told.explain(QUERY, "cookie", without="redis").rank == 1
    with pytest.raises(UnknownMemory):
        told.recall(QUERY, without="nobody")
    with pytest.raises(InvalidInput, match="`without` is for recall"):
        told.bisect(QUERY, "redis", without="cookie")


# --- stale -----------------------------------------------------------------------------------------


def at(memory_clock, day):
    memory_clock.now = micros(datetime(2026, 3, day, tzinfo=UTC))


def test_an_answer_after_the_memory_stopped_being_valid_is_stale_and_says_who_was_told(open_memory, clock):
    memory = open_memory(actor="support-bot")
    at(clock, 1)
    memory.remember("auth sessions live in redis", id="redis", valid_to="2026-03-04")
    fine = memory.recall(QUERY, session="monday")
    at(clock, 5)
    stale = memory.recall(QUERY, session="friday", valid_at="any")
    about_then = memory.recall(QUERY, valid_at="2026-03-02")
    report = memory.stale()
    (found,) = report.answers
    assert (found.recall, found.id, found.rank) == (stale.id, "redis", 1)
    assert (found.session, found.actor, found.answering) == ("friday", "support-bot", False)
    assert [(cause.kind, cause.since, cause.known) for cause in found.causes] == [
        ("not valid", "2026-03-04T00:00:00.000000Z", True)
    ]
    assert (report.checked, report.sessions, report.answering) == (3, ("friday",), ())
    assert {fine.id, about_then.id}.isdisjoint(one.recall for one in report.answers)


def test_what_became_known_later_counts_and_says_so(open_memory, clock):
    memory = open_memory()
    at(clock, 1)
    memory.remember("auth sessions live in redis", id="redis")
    at(clock, 5)
    memory.recall(QUERY)
    at(clock, 6)
    memory.remember("auth sessions live in postgres", id="postgres", valid_from="2026-03-04")
    memory.supersede("redis", "postgres")
    (found,) = memory.stale().answers
    assert [(cause.kind, cause.by, cause.since, cause.known) for cause in found.causes] == [
        ("superseded", "postgres", "2026-03-04T00:00:00.000000Z", False)
    ]


def test_a_contradicted_memory_that_goes_on_answering_is_stale_until_the_edge_is_taken_away(told):
    told.remember("auth sessions live in postgres", id="postgres")
    told.recall(QUERY)
    told.link("postgres", "redis", "contradicts")
    stale = told.recall(QUERY)
    told.unlink("postgres", "redis")
    told.recall(QUERY)
    (found,) = told.stale().answers
    assert (found.recall, found.id, found.answering) == (stale.id, "redis", True)
    assert [(cause.kind, cause.by, cause.known) for cause in found.causes] == [
        ("contradicted", "postgres", True)
    ]


def test_a_superseded_memory_that_was_restored_is_not_stale(told):
    told.supersede("redis", "cookie")
    told.restore("redis")
    told.recall(QUERY)
    assert told.stale().answers == ()
