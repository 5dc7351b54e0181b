"""why and why_not replay the recorded recall, whatever happened since, and write nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from recollect.events.envelope import draft
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Recalled, Superseded
from recollect.interfaces.cli.app import main
from recollect.interfaces.python.memory import Memory
from recollect.query.explanation import reproduce
from recollect.query.formula import built_in, from_canonical, names
from recollect.replay.why import NothingLeftToExplain, why

QUESTION = "where are auth sessions stored?"
TEXTS = {
    "postgres": "Auth sessions live in Postgres, not Redis",
    "redis": "Redis is only used for rate limiting",
    "cookies": "Session cookies expire after 14 days",
    "billing": "The billing service times out when Stripe is slow",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "store", embedder="hash") as opened:
        for id_, text in TEXTS.items():
            opened.remember(text, id=id_)
        yield opened


def head(memory: Memory) -> int:
    return memory.status().head


@pytest.mark.parametrize("name", names())
def test_every_hit_of_a_recorded_recall_is_explained_by_its_recorded_score(memory: Memory, name: str):
    answer = memory.recall(QUESTION, formula=name, session="s")
    before = head(memory)
    for hit in answer.hits:
        explanation = memory.why(answer.id, hit.id)
        assert (explanation.rank, explanation.score) == (hit.rank, hit.score)
        assert (explanation.recall, explanation.basis) == (answer.id, answer.basis)
        assert (explanation.formula, explanation.now) == (answer.formula, answer.now)
        assert explanation.exact is True
        assert reproduce(explanation, built_in(name)) == hit.score
    assert head(memory) == before


def test_the_past_is_explained_as_it_was_after_the_store_moved_on(memory: Memory):
    answer = memory.recall(QUESTION, k=2)
    first = memory.why(answer.id, "postgres")
    memory.revise("postgres", "Nothing of the kind")
    memory.access("cookies", session="later")
    memory.remember("auth sessions auth sessions", id="newcomer")
    memory.forget("redis")
    memory._writer.append([Superseded(old="postgres", new="newcomer")])
    assert memory.why(answer.id, "postgres") == first
    late = memory.why_not(answer.id, "newcomer")
    assert late.dropped_at.reason.startswith("not yet born: it was remembered at @")
    assert memory.why_not(memory.recall(QUESTION).id, "redis").dropped_at.reason == "forgotten"


def test_a_reopened_store_explains_the_same(memory: Memory, tmp_path: Path):
    answer = memory.recall(QUESTION, k=2)
    explained = [memory.why(answer.id, id_) for id_ in TEXTS]
    memory.close()
    with Memory.open(tmp_path / "store", embedder=None) as again:
        assert [again.why(answer.id, id_) for id_ in TEXTS] == explained


def test_a_miss_says_where_it_was_lost(memory: Memory):
    answer = memory.recall(QUESTION, k=1)
    explanation = memory.why_not(answer.id, "billing")
    assert explanation.rank is None
    assert explanation.dropped_at.needed == answer.hits[-1].score
    assert explanation.dropped_at.had == explanation.score < answer.hits[-1].score


def test_why_and_why_not_are_one_object_in_both_cases(memory: Memory):
    answer = memory.recall(QUESTION, k=1)
    store = memory._store
    store.catch_up()
    seq = int(answer.id[1:])
    for id_ in TEXTS:
        one = why(store.log, store.projections, seq, id_)
        assert why(store.log, store.projections, seq, id_) == one == memory.why_not(answer.id, id_)


@pytest.mark.parametrize("recall", ["r1", "r999", "rx", "7", "", "r"])
def test_what_is_no_recall_is_refused(memory: Memory, recall: str):
    memory.recall(QUESTION)
    with pytest.raises(InvalidInput, match="recall"):
        memory.why(recall, "postgres")


def test_an_unknown_memory_is_refused(memory: Memory):
    answer = memory.recall(QUESTION)
    with pytest.raises(UnknownMemory, match="nobody"):
        memory.why_not(answer.id, "nobody")


def forged(memory: Memory, **changes: object) -> str:
    """A recall like the last one but for what it says was answered."""
    store = memory._store
    store.catch_up()
    fact = store.event(int(store.projections.adoptions.recalls[-1])).fact
    assert isinstance(fact, Recalled)
    return f"r{store.log.append([draft(msgspec.structs.replace(fact, **changes))])[0]}"


def test_a_recall_that_was_not_so_is_explained_as_replayed_and_said_to_differ(memory: Memory):
    answer = memory.recall(QUESTION, k=1)
    recall = forged(memory, scores=(0.5,))
    explanation = memory.why(recall, answer.hits[0].id)
    assert explanation.exact is False
    assert explanation.score == answer.hits[0].score
    assert explanation.note == (
        f"{recall} comes out otherwise from rank 1 on: the replay differs from what was recorded; it was recorded at "
        f"rank 1 with 0.5. What follows is of the replay; run `recollect verify`."
    )
    assert memory.why(answer.id, answer.hits[0].id).note == ""


def test_a_recall_that_was_attested_and_erased_from_is_explained_as_a_re_ranking(tmp_path):
    with Memory.open(tmp_path, embedder="hash") as memory:
        for id_ in ("auth", "token", "session"):
            memory.remember(f"auth sessions of the {id_} service", id=id_)
        answer = memory.recall("auth sessions", k=3)
        gone, kept = answer.hits[0], answer.hits[1]
        memory.erase(gone.id)
        assert memory.verify().attested == 1
        explanation = memory.why(answer.id, kept.id)
        assert explanation.exact is False
        assert explanation.note == (
            f"{answer.id} can no longer be ranked again; it was exact when it could; it was recorded at rank 2 with "
            f"{kept.score:.6g}. What follows is a re-ranking of what is left."
        )
        told = CliRunner().invoke(main, ["why", answer.id, kept.id, "--store", str(tmp_path)]).output
        assert "re-ranking" in told
        assert "differs" not in told


def test_what_the_log_no_longer_holds_cannot_be_explained(memory: Memory):
    memory.recall(QUESTION, k=1)
    with pytest.raises(NothingLeftToExplain, match="erased"):
        memory.why(forged(memory, ids=("gone",)), "gone")
    with pytest.raises(NothingLeftToExplain, match="formula"):
        memory.why(forged(memory, formula="0" * 64), "postgres")


def test_a_question_that_was_never_recorded_is_explained_now_and_then(memory: Memory):
    then = head(memory)
    memory.remember("auth sessions auth sessions", id="newcomer")
    before = head(memory)
    now = memory.explain(QUESTION, "newcomer", k=1)
    assert (now.rank, now.recall, now.exact, now.basis) == (1, None, None, before)
    past = memory.at(then).explain(QUESTION, "postgres", k=1, filters={"kinds": ["note"]})
    assert (past.rank, past.basis) == (1, then)
    assert "not yet born" in memory.at(then).explain(QUESTION, "newcomer").dropped_at.reason
    assert head(memory) == before


def test_explain_agrees_with_recall_under_any_formula(memory: Memory):
    for name in names():
        answer = memory.at(head(memory)).recall(QUESTION, formula=name, k=2)
        for hit in answer.hits:
            explanation = memory.at(head(memory)).explain(QUESTION, hit.id, formula=name, k=2)
            assert (explanation.rank, explanation.score) == (hit.rank, hit.score)


def test_the_formula_of_the_log_is_the_one_that_reproduces(memory: Memory):
    answer = memory.recall(QUESTION)
    explanation = memory.why(answer.id, "postgres")
    engine = memory._store.projections.adoptions
    fact = memory._store.event(int(answer.id[1:])).fact
    assert reproduce(explanation, from_canonical(engine.formulas[fact.formula])) == explanation.score
