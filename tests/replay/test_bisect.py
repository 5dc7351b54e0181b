"""bisect finds the event that moved a memory, says when there are several, and stays silent when there is none."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from travel_world import QUERY, START, Hours, histories, tell, world

from recollect.engine.recorded_question import Posed
from recollect.engine.time_travel import inquiry_of
from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import (
    Accessed,
    AnyFact,
    Forgotten,
    Ingested,
    Linked,
    Question,
    Rated,
    Recalled,
    Revised,
    Superseded,
)
from recollect.interfaces.python.memory import Memory
from recollect.query import formula as formulas
from recollect.replay.changes.bisect import SAMPLES
from recollect.replay.changes.bisect_probes import TOUCHES_MAX
from recollect.replay.changes.inquiry import Moment

CONTINUED = """
name = "continued"
stages = [
  { op = "retrieve", channel = "lexical", variant = "lucene", top = 100 },
  { op = "weigh", weights = { lexical = 1.0 } },
  { op = "boost", amounts = { returned_before = 0.5 } },
]
"""
FILLER = ["tuesday", "billing", "cookie", "deploy", "stripe", "login"]


def note(rng: random.Random, number: int) -> Ingested:
    return Ingested(id=f"n{number}", content=" ".join(rng.choices(FILLER, k=4)), at=START)


def noise(rng: random.Random, number: int) -> AnyFact:
    """Something that happens to the others: it never moves the memory."""
    others = (f"n{rng.randrange(max(number, 1))}",)
    return rng.choice(
        [
            note(rng, number),
            Accessed(ids=others, at=START),
            Rated(id=others[0], verdict="helpful", at=START),
            Linked(a="n0", b=others[0], kind="related"),
        ]
    )


def plants(rng: random.Random) -> AnyFact:
    return rng.choice(
        [
            Ingested(id="rival", content=QUERY, at=START),
            Forgotten(id="target"),
            Revised(id="target", at=START, content="billing"),
            Superseded(old="target", new="n0"),
        ]
    )


def planted_store(seed: int) -> tuple[Memory, int]:
    """A store in which one event, somewhere, took the target from the first place."""
    rng = random.Random(seed)
    memory = Memory.open(":memory:", embedder=None, formula="reverie", clock=Hours())
    before, after = rng.randrange(1, 30), rng.randrange(0, 30)
    facts = [Ingested(id="target", content=f"{QUERY} lives here", at=START)]
    facts += [noise(rng, number) for number in range(before)]
    facts.append(plants(rng))
    facts += [noise(rng, number) for number in range(before, before + after)]
    tell(memory, *facts)
    return memory, before + 2


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_bisect_finds_the_planted_event_in_200_random_stores(first: int):
    for seed in range(first, first + 50):
        memory, planted = planted_store(seed)
        with memory:
            found = memory.bisect(QUERY, "target", until_rank=1)
            assert found.seq == planted, seed
            assert not found.entered
            assert not found.back_and_forth
            assert (found.before.seq, found.after.seq) == (planted - 1, planted)
            assert found.before.rank == 1
            assert found.after.rank is None or found.after.rank > 1
            scan = memory.bisect(QUERY, "target", until_rank=1, every=True)
            assert [crossing.seq for crossing in scan.crossings] == [planted]


@settings(max_examples=20)
@given(history=histories)
def test_one_inquiry_gives_at_every_moment_the_answer_of_that_moment(history):
    with world(":memory:", history) as memory:
        memory._store.catch_up()
        inquiry = inquiry_of(memory.here, Posed(QUERY, {"k": 5}), now=START)
        whole = memory._store.projections.adoptions.whole
        for seq in {whole(seq) for seq in range(0, memory.status().head + 1, 3)}:
            standing = inquiry.standing("m0", Moment(seq, memory._store.log.time_of(seq)))
            then = memory.at(seq).recall(QUERY, k=5)
            assert [(place.id, place.score) for place in standing.top] == [(h.id, h.score) for h in then.hits]
            assert standing.formula == then.formula


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder=None, formula="reverie", clock=Hours()) as opened:
        yield opened


def test_what_entered_is_found_as_well(memory: Memory):
    tell(memory, Ingested(id="target", content="billing", at=START))
    seq = tell(memory, Revised(id="target", at=START, content=QUERY))
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert (found.seq, found.entered) == (seq, True)
    assert found.sentence == f"target entered the top 1 with @{seq} (not ranked → rank 1)"
    assert found.event == "revised target: content"


def test_a_rank_that_goes_back_and_forth_is_said_and_every_crossing_listed(memory: Memory):
    tell(memory, Ingested(id="target", content=f"{QUERY} here", at=START))
    seqs = []
    for _ in range(3):
        tell(memory, *(note(random.Random(1), n) for n in range(5)))
        seqs.append(memory.forget("target"))
        tell(memory, *(note(random.Random(2), n) for n in range(5)))
        seqs.append(memory.restore("target"))
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert found.seq == seqs[0]
    assert found.back_and_forth
    assert "back and forth" in found.sentence
    scan = memory.bisect(QUERY, "target", until_rank=1, every=True)
    assert [crossing.seq for crossing in scan.crossings] == seqs
    assert [crossing.entered for crossing in scan.crossings] == [False, True] * 3
    assert scan.scanned
    assert "6 crossings in all" in scan.sentence


def test_nothing_changed_finds_nothing(memory: Memory):
    tell(memory, Ingested(id="target", content=QUERY, at=START), note(random.Random(3), 0))
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert found.seq is None
    assert found.before is None
    assert found.sentence == "target was in the top 1 all the way from @1 to @2"
    assert found.scanned


def test_what_comes_and_goes_between_two_positions_of_the_spread_is_found_by_its_own_events(memory: Memory):
    tell(memory, Ingested(id="target", content=f"{QUERY} here", at=START))
    tell(memory, *(note(random.Random(6), n) for n in range(100)))
    seqs = [memory.forget("target"), memory.restore("target")]
    tell(memory, *(note(random.Random(7), n) for n in range(100, 120)))
    seqs.append(memory.forget("target"))
    tell(memory, *(note(random.Random(8), n) for n in range(120, 1120)))
    assert seqs[-1] - seqs[0] < (memory.status().head - 1) // (SAMPLES + 1)  # all in one gap of the spread
    found = memory.bisect(QUERY, "target", until_rank=3)
    assert (found.seq, found.back_and_forth, found.scanned) == (seqs[0], True, False)
    assert found.sentence.endswith("it goes back and forth, --all lists every crossing")


def test_without_a_scan_the_first_is_said_to_be_that_of_the_positions_asked(memory: Memory):
    tell(memory, Ingested(id="target", content=f"{QUERY} here", at=START))
    tell(memory, *(note(random.Random(9), n) for n in range(30)))
    seq = memory.forget("target")
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert found.sentence == (
        f"target left the top 1 with @{seq} (rank 1 → not ranked), "
        f"the first crossing among the {found.rankings} positions asked; --all asks at every event"
    )
    stayed = memory.bisect(QUERY, "target", until=seq - 1, until_rank=1)
    assert stayed.sentence == (
        f"target was in the top 1 all the way from @1 to @{seq - 1} at the {stayed.rankings} positions asked; "
        f"--all asks at every event"
    )
    scan = memory.bisect(QUERY, "target", until_rank=1, every=True)
    assert scan.sentence == f"target left the top 1 with @{seq} (rank 1 → not ranked)"


def test_a_range_as_short_as_the_spread_is_scanned(memory: Memory):
    tell(memory, Ingested(id="target", content=f"{QUERY} here", at=START))
    seqs = []
    for _ in range(3):
        seqs += [memory.forget("target"), memory.restore("target")]
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert found.scanned
    assert [crossing.seq for crossing in found.crossings] == seqs
    assert "6 crossings in all" in found.sentence


def test_of_a_memory_with_many_events_what_shows_and_hides_it_is_asked_first(memory: Memory):
    tell(memory, Ingested(id="target", content=f"{QUERY} here", at=START))
    tell(memory, *[Accessed(ids=("target",), at=START)] * 1000)
    hidden, shown = memory.forget("target"), memory.restore("target")
    tell(memory, *[Accessed(ids=("target",), at=START)] * 1000)
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert (found.seq, found.back_and_forth) == (hidden, True)
    assert shown == hidden + 1
    gap = math.ceil(math.log2(2000 / (SAMPLES + 1)))
    assert found.rankings <= SAMPLES + 2 + 2 * (2 + TOUCHES_MAX) + gap


def test_a_scan_asks_where_a_recall_of_the_same_session_moved_the_ranking(memory: Memory):
    for id_ in ("rival", "target"):
        tell(memory, Ingested(id=id_, content=QUERY, at=START))
    question = Question(text=QUERY, now=START, k=1, session="s1")
    told = tell(memory, Recalled(question=question, basis=2, formula="", ids=("target",), scores=(1.0,)))
    tell(memory, note(random.Random(10), 0))
    asking = {"until_rank": 1, "every": True, "formula": formulas.parse(CONTINUED, origin="test")}
    assert memory.bisect(QUERY, "target", session="s1", **asking).seq == told
    assert memory.bisect(QUERY, "target", session="s2", **asking).seq is None
    assert memory.bisect(QUERY, "target", **asking).seq is None


def test_a_million_positions_take_some_twenty_rankings(memory: Memory):
    # Positions are what is searched, so few real events and a long range do as well as many.
    facts = [Ingested(id="target", content=f"{QUERY} here", at=START)]
    facts += [note(random.Random(n), n) for n in range(500)]
    facts += [Ingested(id="rival", content=QUERY, at=START)]
    facts += [note(random.Random(n), n) for n in range(500, 1000)]
    tell(memory, *facts)
    found = memory.bisect(QUERY, "target", until_rank=1)
    assert found.seq == 1 + 500 + 1
    assert found.rankings <= 18 + 10  # the spread, and the gap between two of its positions halved


def test_the_clock_is_that_of_the_end_unless_told(memory: Memory):
    tell(memory, Ingested(id="target", content=QUERY, at=START, expires_at=START + 10**12))
    tell(memory, note(random.Random(4), 0))
    memory._store.clock.now += 10**13
    assert memory.bisect(QUERY, "target", since=0, until_rank=1).seq is None  # expired by then, all the way
    assert memory.bisect(QUERY, "target", since=0, until_rank=1, now=START / 10**6).seq == 1


def test_a_scan_asks_only_where_something_can_move(memory: Memory):
    tell(memory, Ingested(id="target", content=QUERY, at=START))
    for _ in range(5):
        memory.recall(QUERY, track=False)
    scan = memory.bisect(QUERY, "target", until_rank=1, every=True)
    recalls = sum(isinstance(event.fact, Recalled) for event in memory._store.log.read())
    assert (recalls, scan.rankings) == (5, 2)  # at the birth, and at the adoption of the formula


def test_refusals(memory: Memory):
    tell(memory, Ingested(id="target", content=QUERY, at=START))
    with pytest.raises(UnknownMemory):
        memory.bisect(QUERY, "ghost")
    with pytest.raises(InvalidInput, match="until_rank"):
        memory.bisect(QUERY, "target", until_rank=0)


def test_ranks_over_time_show_each_change(memory: Memory):
    tell(memory, Ingested(id="target", content=f"{QUERY} here", at=START), note(random.Random(5), 0))
    rival = tell(memory, Ingested(id="rival", content=QUERY, at=START))
    gone = memory.forget("target")
    history = memory.ranks("target", QUERY)
    assert [(point.seq, point.rank) for point in history.points] == [(1, 1), (2, 1), (rival, 2), (gone, None)]
    assert [point.own for point in history.points] == [True, False, False, True]
    few = memory.ranks("target", QUERY, points=2)
    assert len(few.points) <= 3
