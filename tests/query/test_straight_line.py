"""An independent check: the engine agrees with a straight-line reading of the documents, to the last digit.

300 memories with random words, vectors, dates, importances, accesses, revisions, expiries and a dream; 100
questions each, asked of random positions in the log, so the past is checked as well as the present.
"""

from __future__ import annotations

import random
from functools import cache

import pytest
from small_world import ANALYZER, DAY, NOW, vector
from straight_line import FORMULAS, Asked, Corpus, replay, unpack
from strategies import log_of

from recollect.events.facts import (
    Accessed,
    AnyFact,
    Consolidated,
    DreamEnded,
    EmbedderAdopted,
    Forgotten,
    Ingested,
    Placed,
    Placement,
    Question,
    Revised,
    StabilityChange,
    Stabilized,
    StrengthChange,
)
from recollect.projections.view import Projections
from recollect.query.formula import built_in
from recollect.query.ranking import rank

MEMORIES = 300
QUESTIONS = 100
DIMENSIONS = 12
VOCABULARY = [f"{stem}{n}" for stem in ("tea", "auth", "deploy", "redis", "w") for n in range(14)]


class Author:
    """Writes a random log, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.topics = [[self.random.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(8)]
        self.ids: list[str] = []
        self.hidden: set[str] = set()

    def text(self, most: int) -> str:
        count = self.random.randint(1, most)
        return " ".join(self.random.choices(VOCABULARY, weights=range(len(VOCABULARY), 0, -1), k=count))

    def vector(self) -> bytes:
        topic = self.random.choice(self.topics)
        return vector(*(entry + self.random.gauss(0, 0.7) for entry in topic))

    def maybe_vector(self) -> bytes | None:
        return self.vector() if self.random.random() < 0.9 else None

    def memory(self) -> Ingested:
        self.ids.append(f"m{self.random.randrange(10**6):06}-{len(self.ids)}")
        return Ingested(
            id=self.ids[-1],
            content=self.text(14),
            at=NOW - self.random.randrange(100 * DAY // 10**6) * 10**6,
            vector=self.maybe_vector(),
            importance=self.random.randrange(11) / 10,
            session=self.random.choice([None, "s0", "s1"]),
            expires_at=NOW - DAY if self.random.random() < 0.04 else None,
        )

    def shown(self) -> str:
        return self.random.choice([id_ for id_ in self.ids if id_ not in self.hidden])

    def event(self) -> AnyFact:
        match self.random.choices(("access", "revise", "forget"), weights=(10, 2, 1))[0]:
            case "access":
                ids = tuple(dict.fromkeys(self.shown() for _ in range(self.random.randint(1, 4))))
                at = NOW - self.random.randrange(60 * DAY)
                return Accessed(ids=ids, at=at, session=self.random.choice([None, "s1", "s2", "s3", "s4"]))
            case "revise":
                at = NOW - self.random.randrange(20 * DAY)
                return Revised(id=self.shown(), at=at, content=self.text(14), vector=self.maybe_vector())
            case _:
                self.hidden.add(gone := self.shown())
                return Forgotten(id=gone)

    def dream(self) -> list[AnyFact]:
        chosen = {self.shown() for _ in range(60)}
        strengths = tuple(
            StrengthChange(id=id_, before=1.0, after=self.random.randint(1, 99) / 100)
            for id_ in sorted(chosen)
        )
        places = tuple(
            Placement(id=id_, status_before="staged", status="consolidated", depth_before=2, depth=depth)
            for id_ in sorted(chosen)
            for depth in [self.random.randint(1, 3)]
        )
        stabilities = tuple(
            StabilityChange(id=id_, before=1.0, after=self.random.choice([0.5, 2.0, 4.0]))
            for id_ in sorted(chosen)
        )
        return [
            Consolidated(dream="d", changes=strengths),
            Placed(dream="d", changes=places),
            Stabilized(dream="d", changes=stabilities),
            DreamEnded(dream="d"),
        ]

    def log(self) -> list[AnyFact]:
        probe = vector(*[1.0] * DIMENSIONS)
        facts: list[AnyFact] = [EmbedderAdopted(name="tiny", dimensions=DIMENSIONS, probe=probe)]
        while len(self.ids) < MEMORIES:
            facts.append(self.memory())
            if self.random.random() < 0.7 and len(self.ids) > 20:
                facts.append(self.event())
            if len(self.ids) == MEMORIES // 2:
                facts += self.dream() if not any(isinstance(f, DreamEnded) for f in facts) else []
        return facts + [self.event() for _ in range(100)]


@cache
def world() -> tuple[list[AnyFact], Projections]:
    facts = Author(seed=20_260_224).log()
    projections = Projections([ANALYZER])
    for recorded in log_of(*facts):
        projections.apply(recorded)
    return facts, projections


@pytest.mark.parametrize("name", FORMULAS)
def test_engine_and_documents_agree_on_ids_and_all_twelve_digits(name: str):
    facts, projections = world()
    author = Author(seed=7)
    answered = 0
    for number in range(QUESTIONS):
        seq = len(facts) if number % 2 else author.random.randint(len(facts) // 4, len(facts))
        text, point, k = author.text(6), author.vector(), author.random.choice([1, 5, 10, 30])
        question = Question(text=text, vector=point, now=NOW, k=k)
        ranking = rank(question, projections.at(seq, 0), built_in(name))
        asked = Asked(text, unpack(point), NOW, k)
        expected = FORMULAS[name](Corpus(replay(facts[:seq]), asked))
        assert list(zip(ranking.ids, ranking.scores, strict=True)) == expected, f"question {number} at {seq}"
        answered += len(expected)
    assert answered >= 2 * QUESTIONS


def test_the_world_holds_what_the_check_is_meant_to_see():
    facts, _ = world()
    memories = replay(list(facts))
    assert len(memories) == MEMORIES
    assert sum(not record.visible for record in memories.values()) >= 10
    assert sum(record.expires is not None for record in memories.values()) >= 5
    assert sum(record.vector is None for record in memories.values()) >= 10
    assert sum(record.slept_spread > 1 for record in memories.values()) >= 10
    assert sum(record.vector is not None and record.visible for record in memories.values()) > 200
