"""Expectations about recorded questions: stated, listed, withdrawn, and asked again."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.interfaces.python.memory import Memory

QUESTION = "where are auth sessions stored?"
START = 1_767_225_600_000_000
HOUR = 3_600_000_000


@pytest.fixture
def memory(tmp_path):
    ticks = iter(range(10**6))
    with Memory.open(tmp_path / "store", embedder="hash", clock=lambda: START + next(ticks) * HOUR) as opened:
        opened.remember("Auth sessions live in Postgres", id="pg")
        opened.remember("Auth sessions once lived in Redis", id="rd")
        opened.remember("The office plants need water", id="plants")
        yield opened


def asked(memory: Memory, **options: object) -> str:
    found = memory.recall(QUESTION, **options).id
    assert found is not None
    return found


def test_every_kind_of_expectation_holds_and_is_listed(memory):
    recall = asked(memory, k=2)
    first = memory.recall(QUESTION, record=False).hits[0].id
    other = {"pg": "rd", "rd": "pg"}[first]
    names = [
        memory.expect(recall, first, first=True),
        memory.expect(recall, other, top=2, note="both"),
        memory.expect(recall, "plants", absent=True),
        memory.expect(recall, first, above=other),
    ]
    report = memory.check()
    assert [one.expectation.name for one in report.passed] == names
    assert report.failed == ()
    assert [one.expects for one in memory.expectations()] == [
        f"{first} first", f"{other} in the top 2", "plants absent", f"{first} above {other}",
    ]  # fmt: skip
    assert memory.expectations()[1].note == "both"


def test_a_check_names_the_event_that_broke_an_expectation_and_writes_nothing(memory):
    recall = asked(memory)
    memory.expect(recall, "pg", top=2)
    for number in range(40):
        memory.remember(f"note {number} about the garden")
    broken = memory.forget("pg", "by mistake")
    memory.access("rd")
    head = memory.status().head
    (failed,) = memory.check().failed
    assert (failed.broken_by, failed.rank) == (broken, None)
    assert f"broken by @{broken}: forgot pg: by mistake" in failed.sentence
    assert memory.status().head == head
    assert memory.check(at=f"@{broken - 1}").failed == ()


def test_an_absence_is_broken_by_what_brought_the_memory_in(memory):
    recall = asked(memory)
    new = memory.remember("Auth sessions are stored in etcd", id="etcd")
    memory.expect(recall, new, absent=True)
    (failed,) = memory.check().failed
    assert "remembered etcd" in failed.event


def test_a_formula_that_is_tried_or_comes_into_force_is_what_broke_it(memory, tmp_path):
    recall = asked(memory)
    memory.expect(recall, "pg", top=2)
    memory.expect(recall, "rd", top=2)
    narrow = tmp_path / "narrow.toml"
    narrow.write_text(
        'name = "narrow"\nstages = [{ op = "retrieve", channel = "lexical", top = 1 }, { op = "fuse", k = 60.0, channels = ["lexical"] }]\n'
    )
    (tried,) = memory.check(formula=narrow).failed
    assert tried.broken_by is None
    assert "narrow@" in tried.sentence
    with Memory.open(memory.store.folder, embedder="hash", formula=narrow, clock=memory.store.clock) as other:
        other.recall(QUESTION)
    with Memory.open(memory.store.folder, embedder="hash", clock=memory.store.clock) as later:
        (failed,) = later.check().failed
    assert failed.event.startswith("formula narrow@")


def test_the_filters_of_the_recall_come_along(memory):
    memory.remember("Auth sessions of the shop live in MySQL", id="shop", project="shop")
    recall = asked(memory, filters={"project": "shop"})
    memory.expect(recall, "shop", first=True)
    memory.expect(recall, "pg", absent=True)
    assert memory.check().failed == ()
    memory.revise("shop", project="other")
    assert "revised shop" in memory.check().failed[0].event


def test_a_recall_under_a_formula_of_its_own_keeps_it_and_others_follow_the_one_in_force(memory):
    kept = asked(memory, formula="reverie")
    follows = asked(memory)
    memory.expect(kept, "pg", top=9)
    memory.expect(follows, "pg", top=9)
    labels = [one.formula.split("@")[0] for one in memory.check().passed]
    assert labels == ["reverie", "recollect"]
    with Memory.open(
        memory.store.folder, embedder="hash", formula="engram", clock=memory.store.clock
    ) as other:
        assert [one.formula.split("@")[0] for one in other.check().passed] == ["reverie", "engram"]


def test_an_expectation_is_withdrawn_once(memory):
    name = memory.expect(asked(memory), "pg", top=1)
    memory.withdraw(name, "no longer")
    assert memory.expectations() == []
    assert memory.check().passed == memory.check().failed == ()
    with pytest.raises(InvalidInput, match="no expectation that stands"):
        memory.withdraw(name)
    with pytest.raises(InvalidInput, match="look like 'e41'"):
        memory.withdraw("nonsense")


@pytest.mark.parametrize(
    "given",
    [{}, {"top": 1, "first": True}, {"absent": True, "above": "rd"}, {"top": 0}, {"above": "pg"}],
)
def test_what_is_not_one_expectation_is_refused_and_leaves_nothing(memory, given):
    recall = asked(memory)
    head = memory.status().head
    with pytest.raises(InvalidInput):
        memory.expect(recall, "pg", **given)
    with pytest.raises(UnknownMemory):
        memory.expect(recall, "nobody", top=3)
    with pytest.raises(InvalidInput, match="not the id of a recorded recall"):
        memory.expect("r1", "pg", top=3)
    assert memory.status().head == head


def test_a_fork_is_asked_in_its_own_future(memory, tmp_path):
    recall = asked(memory)
    memory.expect(recall, "pg", top=2)
    memory.fork(tmp_path / "fork", formula="reverie")
    memory.expect(recall, "rd", top=3)
    memory.forget("pg")
    assert [one.expectation.id for one in memory.check().failed] == ["pg"]
    assert [one.expectation.id for one in memory.check(fork=tmp_path / "fork").passed] == ["pg", "rd"]
    with pytest.raises(InvalidInput, match="is not a fork"):
        memory.check(fork=tmp_path)
    with Memory.open(tmp_path / "fork", embedder="hash", clock=memory.store.clock) as fork:
        assert fork.expectations()[0].query == QUESTION


def test_an_erased_question_fails_and_says_what_to_do(memory):
    name = memory.expect(asked(memory), "pg", top=2)
    for _ in range(50):
        memory.store.clock()
    memory.retain(recalls="1h")
    (failed,) = memory.check().failed
    assert failed.sentence.endswith(f"its question was erased; withdraw {name}")


def test_an_erased_memory_takes_the_note_along(memory):
    memory.expect(asked(memory), "pg", top=2, note="Postgres is the secret")
    memory.erase("pg")
    assert memory.expectations()[0].note == ""
    assert b"is the secret" not in b"".join(
        path.read_bytes() for path in Path(memory.store.folder).rglob("*") if path.is_file()
    )


def test_a_junit_report_has_one_case_per_expectation(memory, tmp_path):
    recall = asked(memory)
    memory.expect(recall, "pg", top=2)
    memory.expect(recall, "plants", first=True, note="never <&> \x1b[31m")
    memory.check(junit=tmp_path / "report.xml")
    suite = Xml.fromstring((tmp_path / "report.xml").read_text())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("classname") for case in suite] == [f"recollect.{recall}"] * 2
    assert "plants first" in (suite[1].get("name") or "")
    assert suite[1][0].tag == "failure"


@settings(max_examples=10, deadline=None)
@given(
    texts=st.lists(
        st.sampled_from(["red fox", "red hen", "blue fox", "a red red fox"]), min_size=2, max_size=6
    ),
    gone=st.data(),
)
def test_the_named_event_is_where_the_expectation_stops_to_hold(texts, gone):
    ticks = iter(range(10**6))
    with Memory.open(":memory:", embedder="hash", clock=lambda: START + next(ticks) * HOUR) as memory:
        ids = [memory.remember(text, id=f"m{n}") for n, text in enumerate(texts)]
        answer = memory.recall("red fox")
        assert answer.id is not None
        best = answer.hits[0].id
        memory.expect(answer.id, best, first=True)
        for _ in range(gone.draw(st.integers(0, 20))):
            what = gone.draw(st.sampled_from(["remember", "access", "forget"]))
            if what == "remember":
                memory.remember(gone.draw(st.sampled_from(["red fox", "fox fox red", "cow"])))
            elif what == "access":
                memory.access(
                    [best] if best in {m.id for m in memory.memories()} else [memory.remember("cow")]
                )
            elif alive := [id_ for id_ in ids if id_ in {m.id for m in memory.memories()}]:
                memory.forget(gone.draw(st.sampled_from(alive)))
        report = memory.check()
        for failed in report.failed:
            if failed.broken_by is None:
                continue
            now = report.now
            before, after = (
                [hit.id for hit in memory.at(f"@{seq}").recall("red fox", now=now).hits][:1]
                for seq in (failed.broken_by - 1, failed.broken_by)
            )
            assert before == [best] != after
