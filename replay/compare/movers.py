"""The memories that moved most between two rankings of the same questions."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.events.facts import Ingested, Revised
from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.replay.compare.comparison import Mover, move
from recollect.replay.compare.sides import Pair

MOVERS_SHOWN = 20


def movers(log: Log, projections: Projections, pairs: Sequence[Pair]) -> tuple[Mover, ...]:
    """The memories that moved by the most places in one question, of those in one of its two answers."""
    moves = [move for pair in pairs if pair.a.ids != pair.b.ids for move in _moves(pair)]
    moves.sort(key=lambda move: -move[0])
    return tuple(
        Mover(
            question=pair.asked.name,
            text=pair.asked.question.text,
            id=id_,
            content=text_of(log, projections, id_, pair.asked.basis),
            rank_a=rank_a,
            rank_b=rank_b,
            places=places,
        )
        for places, id_, rank_a, rank_b, pair in moves[:MOVERS_SHOWN]
    )


def _moves(pair: Pair) -> list[tuple[int, str, int | None, int | None, Pair]]:
    in_a = {id_: place for place, id_ in enumerate(pair.a.order, 1)}
    in_b = {id_: place for place, id_ in enumerate(pair.b.order, 1)}
    moves = []
    for id_ in dict.fromkeys((*pair.a.ids, *pair.b.ids)):
        places = abs(move(pair, id_))
        if places:
            moves.append((places, id_, in_a.get(id_), in_b.get(id_), pair))
    return moves


def text_of(log: Log, projections: Projections, memory_id: str, seq: int) -> str:
    """A memory's text as of `seq`; empty if it has none any more."""
    memory = projections.documents.ids.find(memory_id)
    row = projections.documents.newest_row(memory, seq) if memory >= 0 else -1
    fact = log.get(projections.documents.source(row)).fact if row >= 0 else None
    return fact.content if isinstance(fact, Ingested | Revised) and isinstance(fact.content, str) else ""
