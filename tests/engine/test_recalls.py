"""Recorded recalls are found by what is known of them, newest first, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.engine import recalls as finding
from recollect.engine.moments import iso
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Rated, Recalled

DAY = 86_400_000_000
START = 1_790_000_000_000_000


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Forty questions over forty days in two projects, two sessions and two formulas; two of them rated."""
    path, now = tmp_path_factory.mktemp("asked") / "store", START
    with Memory.open(path, embedder=None, clock=lambda: now) as memory:
        memory.remember("the release train leaves on Thursday", id="train", project="rail")
        memory.remember("lunch is at noon", id="lunch", project="food")
        for number in range(40):
            now = START + number * DAY
            memory._writer.actor = ("ann", "bob")[number % 2]
            answer = memory.recall(
                f"{('train', 'LUNCH', 'zebra')[number % 3]} {number}",
                session=("s1", None)[number % 2],
                formula=(None, "reverie")[number % 5 == 0],
                filters={"project": ("rail", "food")[number % 4 < 2]},
                track=number % 2 == 0,
            )
            if number in (3, 6):
                memory.rate(answer.hits[0].id if answer.hits else "lunch", "helpful", recall=answer.id)
        yield memory


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "session": st.sampled_from(["s1", "none"]),
        "project": st.sampled_from(["rail", "food", "sea"]),
        "actor": st.sampled_from(["ann", "bob", ""]),
        "grep": st.sampled_from(["lunch", "Train", "3", ""]),
        "held": st.sampled_from(["train", "lunch"]),
        "formula": st.sampled_from(["reverie", "recollect"]),
        "empty": st.booleans(),
        "rated": st.booleans(),
        "since": st.integers(0, 39).map(lambda day: (START + day * DAY) / 1e6),
        "until": st.integers(0, 39).map(lambda day: (START + day * DAY) / 1e6),
    },
)


@given(filters=FILTERS, limit=st.integers(1, 50))
def test_a_page_after_another_gives_every_recall_that_a_plain_look_through_the_log_finds(
    asked: Memory, filters: dict[str, Any], limit: int
) -> None:
    since, until = filters.get("since", START / 1e6), filters.get("until", (START + 39 * DAY) / 1e6)
    filters = {**filters, "since": min(since, until), "until": max(since, until)}
    expected = [f"r{event.seq}" for event in _plainly(asked, filters)]
    found: list[str] = []
    page = asked.recalls(limit=limit, **filters)
    found += [row.id for row in page]
    while page.before is not None:
        assert len(page) == limit
        page = asked.recalls(limit=limit, before=page.before, **filters)
        found += [row.id for row in page]
    assert found == expected


def _plainly(memory: Memory, wanted: dict[str, Any]) -> list[Any]:
    events = list(memory.store.log.read())
    rated = {event.fact.recall for event in events if isinstance(event.fact, Rated)}
    found = []
    for event in reversed(events):
        fact = event.fact
        if not isinstance(fact, Recalled):
            continue
        question = fact.question
        label = finding.label_of(memory.store, fact.formula)
        checks = (
            wanted["since"] * 1e6 <= event.at <= wanted["until"] * 1e6,
            wanted.get("session") in (None, question.session),
            wanted.get("project") in (None, question.filters.project),
            wanted.get("actor") in (None, event.actor),
            wanted.get("grep", "").lower() in question.text.lower(),
            wanted.get("held") is None or wanted["held"] in fact.ids,
            wanted.get("formula") is None or label.startswith(wanted["formula"] + "@"),
            not (wanted.get("empty") and fact.ids),
            not wanted.get("rated") or event.seq in rated,
        )
        if all(checks):
            found.append(event)
    return found


def test_a_row_says_how_the_question_was_asked(asked: Memory) -> None:
    row = asked.recalls(grep="lunch 37")[0]
    assert (row.query, row.session, row.actor, row.filters.project) == ("LUNCH 37", None, "bob", "food")
    assert (row.hits, row.best, row.formula.partition("@")[0]) == (1, "lunch", "recollect")
    assert row.at == iso(START + 37 * DAY)


def test_reading_one_by_one_and_in_runs_gives_the_same(
    asked: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = asked.recalls(grep="train")
    monkeypatch.setattr(finding, "_SPARSE", 0)
    monkeypatch.setattr(finding, "_RUN", 3)
    assert asked.recalls(grep="train") == together


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"limit": 0}, InvalidInput, "limit is 0"),
        ({"before": "yesterday"}, InvalidInput, "a recall such as r12"),
        ({"held": "nothing"}, UnknownMemory, "no memory has the id 'nothing'"),
        ({"formula": "omega"}, InvalidInput, "no recall was ranked by a formula 'omega'"),
        ({"since": "@99999"}, InvalidInput, "@99999 is not in this log"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    asked: Memory, wrong: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        asked.recalls(**wrong)


def test_a_recall_that_was_erased_keeps_its_place_and_matches_no_filter_that_reads_it(tmp_path: Path) -> None:
    now = START
    with Memory.open(tmp_path / "store", embedder=None, clock=lambda: now) as memory:
        memory.remember("red apple", id="apple")
        old = memory.recall("apple").id
        now += 400 * DAY
        memory.retain(recalls="180d")
        new = memory.recall("apple").id
        assert [row.id for row in memory.recalls()] == [new, old]
        assert memory.recalls()[1].query == "[erased]"
        assert [row.id for row in memory.recalls(grep="apple")] == [new]
        shown = memory.show(str(old))
        assert (shown.query, shown.hits) == ("[erased]", ())
