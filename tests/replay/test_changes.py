"""why_changed: a hybrid of one moment is that moment, the parts add up, and each cause is named where it acts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from travel_world import DAY, QUERY, START, Hours, histories, tell, world

from recollect.engine.recorded_question import Posed
from recollect.engine.time_travel import inquiry_of
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Accessed, Consolidated, EmbedderAdopted, Linked, Reembedded, StrengthChange
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.query.ranking import rank
from recollect.replay.changes.hybrid import HybridView, Mix
from recollect.replay.changes.inquiry import Moment
from recollect.replay.changes.shapley import shapley
from recollect.replay.changes.why_changed import CAUSES, Change

BY_SCORE = """
name = "by-score"
stages = [
  { op = "retrieve", channel = "lexical", variant = "lucene", top = 100 },
  { op = "weigh", weights = { lexical = 1.0 } },
]
"""


@settings(max_examples=40)
@given(history=histories, data=st.data())
def test_a_hybrid_of_one_moment_ranks_as_that_moment_does(history, data):
    with world(":memory:", history) as memory:
        memory._store.catch_up()
        inquiry = inquiry_of(memory.here, Posed(QUERY, {"session": "s1", "k": 3}), now=START + 30 * DAY)
        known = memory._store.projections.documents.memories
        if not known:
            return
        seq = data.draw(st.integers(0, memory._store.log.head))
        number = data.draw(st.integers(0, known - 1))
        question = inquiry.question_at(seq, START + 30 * DAY)
        for name in formulas.names():
            formula = formulas.built_in(name)
            inquiry.require(formula)
            real = rank(question, inquiry.view(seq), formula)
            view = HybridView(
                memory._store.projections, number, Mix(seq, seq, seq, seq, seq), 0, inquiry.vectors
            )
            hybrid = rank(question, view, formula)
            assert (hybrid.ids, hybrid.scores) == (real.ids, real.scores), name


@settings(max_examples=30)
@given(history=histories, data=st.data())
def test_the_parts_add_up_for_every_formula(history, data):
    with world(":memory:", history) as memory:
        memos = memory.memories()
        if not memos:
            return
        head = memory._store.log.head
        since = data.draw(st.integers(0, head))
        name = data.draw(st.sampled_from(formulas.names()))
        change = memory.why_changed(QUERY, memos[0].id, since=since, until=head, formula=name)
        assert_adds_up(change)
        assert change.score_change == (change.until.score or 0.0) - (change.since.score or 0.0)


def assert_adds_up(change: Change) -> None:
    assert tuple(part.cause for part in change.parts) == CAUSES
    assert abs(math.fsum(part.score for part in change.parts) - change.score_change) <= 1e-12
    assert abs(math.fsum(part.rank for part in change.parts) - change.rank_change) <= 1e-9


def test_shapley_shares_of_a_game_with_a_known_answer():
    # The glove game: a left glove (a) is worth 1 with either right glove (b, c).
    shares = shapley("abc", lambda s: float("a" in s and bool(s & {"b", "c"})))
    assert shares == pytest.approx({"a": 4 / 6, "b": 1 / 6, "c": 1 / 6})


# --- one scenario per cause --------------------------------------------------------------------------


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hash", formula="reverie", clock=Hours()) as opened:
        opened.remember("auth session lives in postgres", id="a", at="2025-11-01")
        opened.remember("auth cookie", id="b", at="2025-11-01")
        opened.remember("deploy on tuesday", id="c", at="2025-11-01")
        yield opened


def changed(memory: Memory, since: int, *, until: int | None = None, **asking: object) -> Change:
    """Between two seqs, both asked with the clock of their events."""
    head = memory.status().head
    change = memory.why_changed(QUERY, "a", since=since, until=head if until is None else until, **asking)
    assert_adds_up(change)
    return change


def part(change: Change, cause: str):
    return next(p for p in change.parts if p.cause == cause)


def test_its_own_edit_is_named(memory: Memory):
    since = memory.status().head
    memory.revise("a", "billing goes through stripe")
    change = changed(memory, since)
    assert change.cause == "edits"
    assert part(change, "edits").events == (since + 1,)
    assert part(change, "edits").score < 0
    assert "its own edits" in change.sentence


def test_its_own_lifecycle_is_named_with_the_accesses_and_the_dream(memory: Memory):
    since = memory.status().head
    access = tell(memory, Accessed(ids=("a",), at=START))
    dream = tell(memory, Consolidated(dream="d", changes=(StrengthChange(id="a", before=1.0, after=0.25),)))
    change = changed(memory, since, formula="reverie")
    assert change.cause == "lifecycle"
    assert part(change, "lifecycle").events == (access, dream)
    assert part(change, "lifecycle").says == "1 access, 1 dream event"
    # strength 1 → 1/4 takes three quarters of the score; the clock takes the little that is left.
    assert part(change, "lifecycle").score == pytest.approx(-0.75 * change.since.score, rel=1e-3)


def test_being_forgotten_is_its_own_lifecycle_and_counts_down_to_nothing(memory: Memory):
    since = memory.status().head
    memory.forget("a")
    change = changed(memory, since)
    assert change.cause == "lifecycle"
    assert change.until.rank is None
    assert change.score_change == -change.since.score
    assert "to not ranked" in change.sentence
    assert change.sentence.endswith("mostly because of its own lifecycle (forgotten)")


def test_the_memory_that_superseded_it_is_named(memory: Memory):
    since = memory.status().head
    memory.access(["a"])
    memory.supersede("a", "b", "newer")
    change = changed(memory, since)
    assert change.cause == "lifecycle"
    assert change.sentence.endswith("mostly because of its own lifecycle (superseded by b, 1 access)")


def test_corpus_statistics_are_named_where_only_they_moved(memory: Memory, tmp_path: Path):
    (tmp_path / "by-score.toml").write_text(BY_SCORE, "utf-8")
    since = memory.status().head
    for number in range(20):
        memory.remember("tuesday deploy billing redis", id=f"x{number}")
    change = changed(memory, since, formula=str(tmp_path / "by-score.toml"))
    assert change.cause == "corpus"
    assert part(change, "corpus").score > 0  # its words became rarer
    assert part(change, "others").score == 0.0
    assert part(change, "corpus").event_count == 20


def test_the_memories_that_passed_it_are_named(memory: Memory):
    since = memory.status().head
    memory.remember("auth session postgres", id="better")
    change = changed(memory, since)
    assert change.cause == "others"
    assert change.passed_by == ("better",)
    assert change.rank_change == 1
    assert part(change, "others").events == (since + 1,)
    assert "passed by better" in change.sentence


def test_what_hangs_on_the_other_candidates_names_their_events_though_nobody_passed_it(memory: Memory):
    # MemorySync normalises each factor over all candidates.
    since = memory.status().head
    new = memory.remember("auth cookie of the login page", id="new") and memory.status().head
    change = changed(memory, since, formula="memorysync")
    assert (change.rank_change, change.passed_by, change.passed) == (0, (), ())
    others = part(change, "others")
    assert others.score != 0.0
    assert others.events == (new,)
    assert others.says == "no other memory passed it; new beside it: new"
    gone = memory.forget("new")
    back = part(changed(memory, new, formula="memorysync"), "others")
    assert (back.events, back.says) == ((gone,), "no other memory passed it; gone: new")


def test_an_edge_that_moved_a_memory_is_among_the_events_of_the_others(memory: Memory):
    since = memory.status().head
    linked = tell(memory, Linked(a="b", b="a", kind="supports", weight=1.0))
    change = changed(memory, since, formula="memorysync")
    assert part(change, "others").score != 0.0
    assert part(change, "others").events == (linked,)
    assert "its edges or clusters changed" in part(change, "others").says


def test_what_is_ranked_at_neither_moment_has_no_parts_and_was_passed_by_nobody(memory: Memory):
    since = memory.status().head
    memory.remember("auth session postgres", id="better", kind="decision")
    change = changed(memory, since, filters={"kinds": ["decision"]})
    assert change.sentence == f"a was ranked at neither end, @{since} nor @{since + 1}"
    assert (change.cause, change.rank_change, change.score_change) == (None, 0, 0.0)
    assert (change.passed_by, change.passed) == ((), ())
    assert {(p.score, p.rank) for p in change.parts} == {(0.0, 0.0)}


def test_the_formula_is_named(memory: Memory):
    memory.recall(QUERY, record=True, track=False)
    since = memory.status().head
    other = formulas.parse(BY_SCORE, origin="test")
    memory.adopt(other)
    change = changed(memory, since)
    assert change.cause == "formula"
    assert part(change, "formula").events == (since + 1,)
    assert change.until.formula == other.label


def test_the_embedder_is_named(memory: Memory):
    since = memory.status().head
    far = memory._writer.embedding.vectors(["nothing alike at all"])[0]
    near = memory._writer.embedding.vectors([QUERY])[0]
    adopted = tell(memory, EmbedderAdopted(name="hash/2", dimensions=len(far) // 2, probe=far))
    again = tell(memory, Reembedded(embedder="hash/2", vectors=(("a", far), ("b", near), ("c", near))))
    inquiry = inquiry_of(memory.here, Posed(QUERY, {}), now=START)
    inquiry._vectors["hash/2"] = near
    from recollect.replay.changes.why_changed import why_changed

    log = memory._store.log
    change = why_changed(log, inquiry, "a", Moment(since, START), Moment(again, START))
    assert_adds_up(change)
    assert change.cause == "embedder"
    assert part(change, "embedder").events == (adopted, again)
    assert part(change, "edits").score == 0.0


def test_the_clock_is_named_where_nothing_else_moved(memory: Memory):
    head = memory.status().head
    memory._store.clock.now += 40 * DAY
    change = memory.why_changed(QUERY, "a", since=f"@{head}")
    assert_adds_up(change)
    assert change.cause == "clock"
    assert {p.cause for p in change.parts if p.score != 0.0} == {"clock"}
    assert change.rank_change == 0


def test_nothing_changed_says_so(memory: Memory):
    head = memory.status().head
    change = changed(memory, head)
    assert change.cause is None
    assert change.sentence.startswith("nothing changed for a")
    assert change.score_change == 0.0


def test_a_birth_is_its_own_edit(memory: Memory):
    change = changed(memory, 1)
    assert change.since.rank is None
    assert change.until.rank == 1
    assert change.cause == "edits"
    assert "from not ranked to rank 1" in change.sentence


def test_wrong_questions_are_refused(memory: Memory):
    with pytest.raises(InvalidInput, match="swap them"):
        memory.why_changed(QUERY, "a", since=4, until=2)
    with pytest.raises(UnknownMemory):
        memory.why_changed(QUERY, "ghost", since=1)
