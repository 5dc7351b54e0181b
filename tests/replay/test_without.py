"""Without a memory: what is left of every fact, and a ranking that equals the one of a store which never had it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DAY, IDS, facts

from recollect.events.errors import InvalidInput, UnknownMemory
from recollect.events.facts import Recalled, Superseded, Unknown
from recollect.events.subjects import memories_of
from recollect.interfaces.python.memory import Memory
from recollect.projections.vectors.sealing import Sealer, SealPolicy
from recollect.projections.vectors.shard_names import Builder
from recollect.query.formula import names
from recollect.replay.without import untold

GONE = IDS[0]
START = 1_760_000_000_000_000
WORDS = ("auth", "sessions", "live", "redis", "postgres", "cookie", "deploys", "tuesday", "green", "tea")
QUESTIONS = ("where do auth sessions live?", "tea on tuesday", "postgres cookie deploys", "")


# --- facts -----------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(facts())
def test_nothing_of_the_memory_is_left_and_nothing_of_others_is_lost_from_a_list(fact):
    left = untold(fact, frozenset((GONE,)))
    assert GONE not in memories_of(left)
    if GONE not in memories_of(fact):
        assert left == fact or isinstance(left, Unknown)
    elif not isinstance(left, Unknown):
        assert set(memories_of(left)) == set(memories_of(fact)) - {GONE}
    if isinstance(left, Recalled):
        assert len(left.ids) == len(left.scores)


def test_what_the_memory_replaced_was_never_replaced():
    assert isinstance(untold(Superseded(old="m1", new=GONE), frozenset((GONE,))), Unknown)


# --- rankings --------------------------------------------------------------------------------------

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
steps = st.one_of(
    st.tuples(st.just("remember"), st.sampled_from(IDS), texts, st.integers(1, 9), st.sampled_from((None, "web"))),
    st.tuples(st.just("revise"), st.sampled_from(IDS), texts),
    st.tuples(st.just("link"), st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from(("supports", "extends"))),
    st.tuples(st.just("supersede"), st.sampled_from(IDS), st.sampled_from(IDS)),
    st.tuples(st.just("access"), st.sets(st.sampled_from(IDS), min_size=1)),
    st.tuples(st.just("rate"), st.sampled_from(IDS), st.sampled_from(("helpful", "unhelpful"))),
    st.tuples(st.just("forget"), st.sampled_from(IDS)),
    st.tuples(st.just("ask"), st.sampled_from(QUESTIONS)),
)  # fmt: skip


class World:
    """A store to which steps are told, all at the same times whatever is left out."""

    def __init__(self, formula: str, *, leave_out: str | None = None) -> None:
        self.now = START
        self._gone = leave_out
        self.memory = Memory.open(":memory:", embedder="hash", formula=formula, clock=lambda: self.now)
        self.answers: dict[int, tuple[str, ...]] = {}
        self.taken: set[int] = set()

    def tell(self, script: list[tuple], only: set[int] | None = None) -> World:
        """Take the steps that can be taken: none of a memory that is not there, or hidden; `only` those that others took."""
        for number, step in enumerate(script):
            self.now = START + number * DAY
            if only is not None and number not in only:
                continue
            try:
                self._step(number, *step)
                self.taken.add(number)
            except (InvalidInput, UnknownMemory):
                assert only is None
        return self

    def _step(self, number: int, what: str, *given: object) -> None:
        if what == "ask":
            self.answers[number] = self.ids(given[0])
        elif what == "access":
            if left := sorted(set(given[0]) - {self._gone}):
                self.memory.access(left)
        elif self._gone in given[: 2 if what in ("link", "supersede") else 1]:
            pass
        elif what == "remember":
            id_, content, tenths, project = given
            self.memory.remember(content, id=id_, importance=tenths / 10, project=project)
        else:
            getattr(self.memory, what)(*given)

    def ids(self, query: str) -> tuple[str, ...]:
        return tuple(hit.id for hit in self.memory.recall(query, k=3, track=False).hits)

    def scored(self, query: str, **options: object) -> list[tuple[str, float]]:
        return [(hit.id, hit.score) for hit in self.memory.recall(query, k=3, record=False, **options).hits]


@pytest.mark.parametrize("formula", names())
@settings(max_examples=25)
@given(script=st.lists(steps, min_size=4, max_size=25))
def test_without_a_memory_a_store_ranks_as_one_that_never_had_it(formula: str, script: list[tuple]):
    start = [
        ("remember", id_, f"{WORDS[n]} {WORDS[n + 1]} {WORDS[n + 4]}", 5, None) for n, id_ in enumerate(IDS)
    ]
    script = [*start, *script, ("ask", QUESTIONS[0])]
    told = World(formula).tell(script)
    never = World(formula, leave_out=GONE).tell(script, told.taken)
    for query in QUESTIONS:
        assert told.scored(query, without=GONE) == never.scored(query)
    if any(GONE in ids for ids in told.answers.values()):
        impact = told.memory.impact(GONE)
        expected = [never.answers[number] for number, ids in told.answers.items() if GONE in ids]
        assert [answer.without for answer in reversed(impact.answers)] == expected
        assert [answer.ids for answer in impact.answers] == [
            ids for ids in reversed(told.answers.values()) if GONE in ids
        ]
        assert all(answer.replayed for answer in impact.answers)
        assert impact.changed == sum(answer.without != answer.ids for answer in impact.answers)


def test_vectors_are_compared_one_by_one_on_both_sides(tmp_path: Path):
    memory = Memory.open(tmp_path / "store", embedder="hash", formula="mnemosyne", clock=lambda: START)
    memory.remember_many([{"content": f"note {n} on tea {n % 9}", "id": f"n{n}"} for n in range(64)])
    builder = Builder(M=4, ef_construction=16, seed=1, ef_min=8, ef_per_100=8)
    vectors = memory.store.projections.vectors
    sealer = Sealer(vectors, memory.store._publish_shard, policy=SealPolicy(block=64), builder=builder)
    assert sealer.step() is not None
    first = memory.recall("note on tea 3", k=5)
    other = Memory.open(":memory:", embedder="hash", formula="mnemosyne", clock=lambda: START)
    kept = [n for n in range(64) if f"n{n}" != first.hits[0].id]
    other.remember_many([{"content": f"note {n} on tea {n % 9}", "id": f"n{n}"} for n in kept])
    impact = memory.impact(first.hits[0].id)
    assert [set(answer.without) for answer in impact.answers] == [
        {hit.id for hit in other.recall("note on tea 3", k=5, now=first.now).hits}
    ]
    memory.close()
