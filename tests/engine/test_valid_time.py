"""A question asks as of its own clock in valid time too, unless it is told another time, or any."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from click.testing import CliRunner

from recollect.engine.moments import micros
from recollect.events.errors import InvalidInput
from recollect.events.facts import Filters, Recalled
from recollect.interfaces.cli.app import main

QUERY = "where do auth sessions live?"


@pytest.fixture
def memory(open_memory):
    told = open_memory()
    told.remember("auth sessions live in redis", id="redis", valid_to="2026-03-04")
    told.remember(
        "auth sessions live in postgres", id="postgres", valid_from="2026-03-04", valid_to="2026-06-01"
    )
    told.remember("auth sessions have a cookie", id="cookie")
    return told


def ids(answer):
    return {hit.id for hit in answer.hits}


@pytest.mark.parametrize(
    ("options", "answering"),
    [
        ({"now": "2026-03-03"}, {"redis", "cookie"}),
        ({"now": "2026-03-04"}, {"postgres", "cookie"}),
        ({"now": "2026-07-01"}, {"cookie"}),
        ({"now": "2026-07-01", "valid_at": "any"}, {"redis", "postgres", "cookie"}),
        ({"now": "2026-07-01", "valid_at": "2026-02-01"}, {"redis", "cookie"}),
        ({"now": "2026-07-01", "filters": {"valid_at": "2026-02-01"}}, {"redis", "cookie"}),
        ({"now": "2026-07-01", "filters": {"valid_at": "any"}}, {"redis", "postgres", "cookie"}),
    ],
)
def test_only_what_holds_at_the_clock_answers_unless_another_time_is_named(memory, options, answering):
    assert ids(memory.recall(QUERY, **options)) == answering
    assert memory.verify().exact


def test_a_valid_time_given_twice_is_refused(memory):
    with pytest.raises(InvalidInput, match="given twice"):
        memory.recall(QUERY, valid_at="any", filters={"valid_at": "2026-02-01"})


def test_what_is_no_longer_valid_says_since_when(memory):
    answer = memory.recall(QUERY, now="2026-07-01")
    assert "no longer valid since 2026-03-04T00:00:00+00:00" in memory.why_not(answer.id, "redis").sentence
    early = memory.recall(QUERY, now="2026-03-01")
    assert (
        "not yet valid: only from 2026-03-04T00:00:00+00:00" in memory.why_not(early.id, "postgres").sentence
    )


def test_a_past_question_asks_with_the_clock_of_that_moment(memory, clock):
    clock.now = micros(datetime(2026, 4, 1, tzinfo=UTC))
    assert ids(memory.recall(QUERY)) == {"postgres", "cookie"}
    assert ids(memory.at("2026-03-01").recall(QUERY)) == {"redis", "cookie"}
    assert ids(memory.at("2026-03-01").recall(QUERY, now="2026-03-05")) == {"postgres", "cookie"}


def test_a_question_records_how_it_asked_and_one_from_before_the_rule_is_ranked_as_it_was(memory):
    answer = memory.recall(QUERY, now="2026-07-01", valid_at="any")
    asked = memory.store.event(int(answer.id[1:])).fact
    assert not asked.question.valid_now
    assert asked.question.filters == Filters()
    assert b"valid_now" not in msgspec.msgpack.encode(asked.question)
    plain = memory.store.event(int(memory.recall(QUERY, now="2026-07-01").id[1:])).fact
    assert plain.question.valid_now
    old = msgspec.structs.replace(asked, question=msgspec.structs.replace(plain.question, valid_now=False))
    assert isinstance(old, Recalled)
    memory.store.append([msgspec.structs.replace(old, basis=asked.basis)])
    report = memory.verify()
    assert (report.checked, report.exact) == (3, True)


def test_the_clock_is_the_cause_where_a_memory_stopped_being_valid(memory):
    changed = memory.ranks("redis", QUERY, now="2026-03-03")
    assert changed.points[-1].rank == 1
    assert memory.ranks("redis", QUERY, now="2026-03-05").points[-1].rank is None


def test_the_command_line_takes_a_time_or_any(memory, tmp_path):
    memory.export(tmp_path / "log.jsonl")
    store = ["--store", str(tmp_path / "copy"), "--embedder", "hash"]
    run = CliRunner().invoke
    assert run(main, ["import", str(tmp_path / "log.jsonl"), *store]).exit_code == 0
    asked = ["recall", QUERY, "--json", "--no-record", "--now", "2026-07-01", *store]
    assert "redis" not in run(main, asked).output
    assert '"redis"' in run(main, [*asked, "--valid-at", "any"]).output
    assert '"postgres"' in run(main, [*asked, "--valid-at", "2026-05-01"]).output
    refused = run(main, [*asked, "--valid-at", "sometime"])
    assert refused.exit_code == 2
    assert "valid_at 'sometime' is not a time" in refused.output
