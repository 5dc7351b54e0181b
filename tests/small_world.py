"""A log written by hand and what formulas make of it: facts in, rankings out, no store around them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import msgspec
from strategies import log_of

from recollect.events.facts import AnyFact, EmbedderAdopted, Ingested, Question
from recollect.events.grid import quantize, to_bytes
from recollect.projections.view import Projections
from recollect.query import formula as formulas
from recollect.query.formula import Formula
from recollect.query.ranking import Ranking, rank

HOUR = 3_600_000_000
DAY = 24 * HOUR
NOW = 1_800_000_000_000_000
ANALYZER = "unicode61-cjk/2"


def vector(*entries: float) -> bytes:
    """The point of the grid in this direction."""
    return to_bytes(quantize(entries))


def cosine(a: bytes, b: bytes) -> float:
    """The cosine of two grid vectors, in plain integers and to 12 digits, as channels give it."""
    left, right = (struct.unpack(f"<{len(v) // 2}h", v) for v in (a, b))
    dot = sum(x * y for x, y in zip(left, right, strict=True))
    return digits12(dot / math.sqrt(sum(x * x for x in left) * sum(y * y for y in right)))


def digits12(value: float) -> float:
    """A score as it is compared and returned."""
    return float(f"{value:.12g}")


def memory(id_: str, content: str = "nothing in common", **fields: object) -> Ingested:
    """A memory born at NOW, with a vector unless it says None."""
    return Ingested(**{"id": id_, "content": content, "at": NOW, "vector": vector(1, 0, 0), **fields})


class World:
    """The projections of these facts, after the adoption of an embedder of three dimensions."""

    def __init__(self, *facts: AnyFact) -> None:
        self.projections = Projections([ANALYZER])
        self.facts: list[AnyFact] = [EmbedderAdopted(name="tiny", dimensions=3, probe=vector(1, 1, 1))]
        self.tell(*facts)

    def tell(self, *facts: AnyFact) -> int:
        """Append; the seq of the last."""
        self.facts += facts
        for recorded in log_of(*self.facts)[self.projections.position :]:
            self.projections.apply(recorded)
        return self.projections.position

    def rank(
        self, formula: str | Formula, text: str = "", *, at: int | None = None, **question: object
    ) -> Ranking:
        recipe = formulas.load(formula) if isinstance(formula, str) else formula
        asked = msgspec.convert({"text": text, "now": NOW, **question}, Question)
        return rank(asked, self.projections.at(self.projections.position if at is None else at, 0), recipe)

    def scores(self, formula: str | Formula, text: str = "", **question: object) -> dict[str, float]:
        ranking = self.rank(formula, text, **question)
        return dict(zip(ranking.ids, ranking.scores, strict=True))


def column(world: World, ranking: Ranking, name: str) -> dict[str, float]:
    """A column of the sheet by memory id, where there is a value."""
    ids = world.projections.documents.ids.values
    values = zip(ranking.sheet.memories.tolist(), ranking.sheet.column(name).tolist(), strict=True)
    return {ids[number]: value for number, value in values if not math.isnan(value)}


def candidates(world: World, ranking: Ranking) -> set[str]:
    """The ids of all candidates that no stage dropped before the last."""
    ids = world.projections.documents.ids.values
    return {ids[number] for number in ranking.sheet.memories.tolist()}


def with_stage(formula: Formula, number: int, **changes: object) -> Formula:
    """The formula with one stage changed; stages are counted from 1, as in its file."""
    stages: Sequence[object] = [
        msgspec.structs.replace(stage, **changes) if place == number else stage
        for place, stage in enumerate(formula.stages, 1)
    ]
    return Formula(name=formula.name, stages=tuple(stages), dials=formula.dials)
