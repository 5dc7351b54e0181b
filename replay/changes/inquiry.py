"""One question asked at many moments: each time with that moment's corpus, lifecycle, formula and embedder.

What stays fixed is the question itself and, where the caller says so, the formula or the clock. The vector comes
from the embedder in force at the moment asked; without one of that embedder the question is asked by words, and
`degraded` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from recollect.events.facts import GridVector, Question
from recollect.events.log import Log
from recollect.projections.portable_math import round12
from recollect.projections.view import Projections, View
from recollect.query.formula import Formula, formula_in_force
from recollect.query.ranking import Ranking, rank_around
from recollect.replay.shared_scans import SharedVectors
from recollect.replay.verify import prepare

Embed = Callable[[str], tuple[GridVector | None, str | None]]


class Moment(NamedTuple):
    """A position in the log and the clock to ask with there."""

    seq: int
    now: int


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One memory of a ranking."""

    id: str
    rank: int
    score: float


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where one memory stood at one moment: rank and score are None if it was not ranked; `top` is the answer."""

    seq: int
    now: int
    rank: int | None
    score: float | None
    formula: str
    top: tuple[Place, ...]


class _View(View):
    """A view that shares its scans of vectors with the other views of one inquiry."""

    __slots__ = ("_scanned",)

    def __init__(self, projections: Projections, seq: int, time: int, vectors: SharedVectors) -> None:
        super().__init__(projections, seq, time)
        self._scanned = vectors

    @property
    def vectors(self) -> SharedVectors:
        return self._scanned


class Inquiry:
    def __init__(
        self, log: Log, projections: Projections, question: Question, *,
        formula: Formula | None = None, embed: Embed | None = None,
    ) -> None:  # fmt: skip
        """`formula` is used everywhere, without one that in force; `embed` gives the question's vector by the name of an
        embedder, or why it has none."""
        self.projections = projections
        self.question = question
        self._log = log
        self._formula = formula
        self._embed = embed
        self._vectors: dict[str, GridVector | None] = {}
        self._by_words: dict[str, None] = {}
        self.vectors = SharedVectors(projections.vectors)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Why the question was asked by words where the memories had vectors; empty if it never was."""
        return tuple(self._by_words)

    def formula_at(self, seq: int) -> Formula:
        if self._formula is not None:
            return self._formula
        return formula_in_force(self.projections.adoptions, seq)

    def embedder_at(self, seq: int) -> str | None:
        adopted = self.projections.adoptions.embedder(seq)
        return adopted.label if adopted else None

    def question_at(self, seq: int, now: int) -> Question:
        """The question as it would have been asked at that moment."""
        label = self.embedder_at(seq)
        vector = None if label is None else self._vector(label)
        return msgspec.structs.replace(
            self.question, now=now, vector=vector, embedder=None if vector is None else label
        )

    def _vector(self, label: str) -> GridVector | None:
        if label not in self._vectors:
            vector, why_not = self._embed(label) if self._embed else (None, None)
            self._vectors[label] = vector
            if why_not is not None:
                self._by_words[why_not] = None
        return self._vectors[label]

    def view(self, seq: int) -> View:
        return _View(self.projections, seq, self._log.time_of(seq), self.vectors)

    def require(self, formula: Formula) -> None:
        """Make sure that the lexical indexes which a formula reads exist."""
        prepare(self._log, self.projections, formula)

    def ranking(self, moment: Moment) -> Ranking:
        formula = self.formula_at(moment.seq)
        self.require(formula)
        return rank_around(self.question_at(*moment), self.view(moment.seq), formula, finite=False)[1]

    def standing(self, memory_id: str, moment: Moment) -> Standing:
        return self.standing_in(self.ranking(moment), memory_id, moment)

    def standing_in(self, ranking: Ranking, memory_id: str, moment: Moment) -> Standing:
        """Where the memory stands in the ranking of this moment."""
        position, score = position_of(ranking, self.projections.documents.ids.find(memory_id))
        return Standing(
            seq=moment.seq,
            now=moment.now,
            rank=position,
            score=score,
            formula=ranking.formula,
            top=tuple(
                Place(id=id_, rank=n, score=value)
                for n, (id_, value) in enumerate(zip(ranking.ids, ranking.scores, strict=True), 1)
            ),
        )


def position_of(ranking: Ranking, memory: int) -> tuple[int | None, float | None]:
    """Rank and score of a memory among all candidates that are still in; (None, None) if it is not."""
    place = ranking.sheet.place(memory)
    if place < 0 or place not in ranking.order:
        return None, None
    return ranking.order.index(place) + 1, round12(float(ranking.sheet.score[place]))
