"""An independent check: the engine agrees with a straight-line reading of the documents, to the last digit.

300 memories with random words, vectors, dates, kinds, labels, importances, accesses of every kind, verdicts, edges,
revisions, expiries and a dream, some of them said twice; 100 questions each, asked of random positions in the log, so
the past is checked as well as the present, down to a store of one memory.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from small_world import ANALYZER, DAY, NOW, vector
from straight_line import FORMULAS, Asked, Corpus, replay, unpack
from straight_line_omega import omega
from strategies import log_of

from recollect.events.facts import (
    Accessed,
    AnyFact,
    Consolidated,
    DreamEnded,
    EmbedderAdopted,
    Forgotten,
    Ingested,
    Linked,
    Placed,
    Placement,
    Question,
    Rated,
    Revised,
    StabilityChange,
    Stabilized,
    StrengthChange,
)
from recollect.projections.view import Projections
from recollect.query.formula import built_in
from recollect.query.ranking import rank
from recollect.query.stages.ordering import DerivedFrom

MEMORIES = 300
QUESTIONS = 100
DIMENSIONS = 12
KINDS = ("note", "note", "decision", "constraint", "session_summary", "file_summary")
DOCUMENTS = {**FORMULAS, "omega": omega}
OMEGA, REVERIE = built_in("omega"), built_in("reverie")
BELOW = msgspec.structs.replace(REVERIE, stages=(*REVERIE.stages, DerivedFrom()))
VOCABULARY = [f"{stem}{n}" for stem in ("tea", "auth", "deploy", "redis", "w") for n in range(14)]


class Author:
    """Writes a random log, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.topics = [[self.random.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(8)]
        self.ids: list[str] = []
        self.hidden: set[str] = set()
        self.said: list[tuple[str, bytes | None]] = []

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
        if self.random.random() < 0.9 or not self.said:
            self.said.append((self.text(14), self.maybe_vector()))
        text, point = self.said[-1] if self.random.random() < 0.9 else self.random.choice(self.said)
        return Ingested(
            id=self.ids[-1],
            content=text,
            kind=self.random.choice(KINDS),
            tags=tuple(self.random.sample(("t0", "t1", "t2", "t3", "t4", "t5"), self.random.randrange(3))),
            entities=tuple(self.random.sample(("ada", "bob", "eve"), self.random.randrange(2))),
            at=NOW - self.random.randrange(100 * DAY // 10**6) * 10**6,
            vector=point,
            importance=self.random.randrange(11) / 10,
            session=self.random.choice([None, "s0", "s1"]),
            expires_at=NOW - DAY if self.random.random() < 0.04 else None,
        )

    def shown(self) -> str:
        return self.random.choice([id_ for id_ in self.ids if id_ not in self.hidden])

    def event(self) -> AnyFact:
        match self.random.choices(("access", "revise", "forget", "link", "rate"), weights=(10, 2, 2, 4, 3))[
            0
        ]:
            case "link":
                kind = self.random.choice(("derived_from", "derived_from", "supports", "similar", "related"))
                return Linked(a=self.shown(), b=self.shown(), kind=kind)
            case "rate":
                verdict = self.random.choice(("helpful", "unhelpful", "outdated"))
                judged = self.random.choice(
                    [id_ for id_ in self.ids if id_.endswith("7") or id_ == self.ids[0]]
                )
                return Rated(id=judged, verdict=verdict, at=NOW)
            case "access":
                ids = tuple(dict.fromkeys(self.shown() for _ in range(self.random.randint(1, 4))))
                at = NOW - self.random.randrange(60 * DAY)
                how = self.random.choice(("returned", "returned", "injected", "used"))
                session = self.random.choice([None, "s1", "s2", "s3", "s4"])
                return Accessed(ids=ids, at=at, session=session, how=how)
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
            said = [
                fact.id
                for fact in facts[:-1]
                if isinstance(fact, Ingested) and fact.content == facts[-1].content
            ]
            facts += [Linked(a=facts[-1].id, b=id_, kind="derived_from") for id_ in said]
            if self.random.random() < 0.7 and len(self.ids) > 20:
                facts.append(self.event())
            if len(self.ids) == MEMORIES // 2:
                facts += self.dream() if not any(isinstance(f, DreamEnded) for f in facts) else []
        return facts + [self.event() for _ in range(100)]


def texts_of(facts: list[AnyFact]) -> list[str]:
    """Texts that were said, to be asked for word by word."""
    return [fact.content for fact in facts if isinstance(fact, Ingested)]


@cache
def world() -> tuple[list[AnyFact], Projections]:
    facts = Author(seed=20_260_224).log()
    projections = Projections([ANALYZER])
    for recorded in log_of(*facts):
        projections.apply(recorded)
    return facts, projections


def questions(facts: list[AnyFact]) -> Iterator[tuple[int, Question]]:
    """The questions, each with the position that it is asked at."""
    author = Author(seed=7)
    for number in range(QUESTIONS):
        seq = len(facts) if number % 2 else author.random.randint(len(facts) // 4, len(facts))
        seq = number // 5 + 1 if number % 5 == 0 else seq
        text, point, k = author.text(6), author.vector(), author.random.choice([1, 5, 10, 30])
        if number % 4 == 0:
            text = f'"{author.random.choice(texts_of(facts))}"' if number % 8 else f'"{text}"'
        yield seq, Question(text=text, vector=point, now=NOW, k=k)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_engine_and_documents_agree_on_ids_and_all_twelve_digits(name: str):
    facts, projections = world()
    formula = BELOW if name == "reverie with derived_from" else built_in(name)
    answered = 0
    for seq, question in questions(facts):
        ranking = rank(question, projections.at(seq, 0), formula)
        asked = Asked(question.text, unpack(question.vector), NOW, question.k)
        expected = DOCUMENTS[name](Corpus(replay(facts[:seq]), asked))
        assert list(zip(ranking.ids, ranking.scores, strict=True)) == expected, (seq, question.text)
        answered += len(expected)
    assert answered >= 2 * QUESTIONS


def test_the_world_holds_what_the_check_is_meant_to_see():
    facts, _ = world()
    memories = replay(list(facts)).memories
    assert len(memories) == MEMORIES
    assert sum(not record.visible for record in memories.values()) >= 10
    assert sum(record.expires is not None for record in memories.values()) >= 5
    assert sum(record.vector is None for record in memories.values()) >= 10
    assert sum(record.slept_spread > 1 for record in memories.values()) >= 10
    assert sum(record.vector is not None and record.visible for record in memories.values()) > 200
    assert sum(0 < record.used < record.accesses for record in memories.values()) >= 10


def test_the_questions_take_every_way_through_the_phases():
    facts, projections = world()
    taken: Counter[str] = Counter()
    for seq, question in questions(facts):
        view = projections.at(seq, 0)
        for formula in (OMEGA, built_in("memorysync"), BELOW):
            ranking = rank(question, view, formula)
            sheet = ranking.sheet
            taken[f"shortcut on {sheet.facts.get('shortcut')}"] += formula is OMEGA
            taken["lone"] += len(sheet) == 1 and sheet.facts.get("tiebreak_applied") == "true"
            taken["several tied"] += len(sheet) > 1 and sheet.facts.get("tiebreak_applied") == "true"
            taken["out of score order"] += (
                formula is BELOW and list(ranking.scores) != sorted(ranking.scores)[::-1]
            )
            dropped = [
                type(formula.stages[stage]).__name__ for stage in set(sheet.dropped_at.tolist()) - {-1}
            ]
            taken.update(dropped)
    ways = ("shortcut on trigram", "shortcut on text_relevance", "shortcut on None", "lone", "Filter", "Exclude",
            "Deduplicate", "Abstain", "out of score order")  # fmt: skip
    assert {way for way in ways if not taken[way]} == set()
