"""One recorded question under two formulas: every memory of either answer, with both explanations."""

from __future__ import annotations

import msgspec

from recollect.events.log import Log
from recollect.projections.view import Projections
from recollect.query.explain.explaining import explain
from recollect.query.explanation import Explanation
from recollect.query.formula import Formula
from recollect.replay.compare.movers import text_of
from recollect.replay.compare.recorded_questions import Asked, under
from recollect.replay.compare.shared_search import SharedSearch
from recollect.replay.compare.sides import FormulaSide


class BothWays(msgspec.Struct, frozen=True, kw_only=True):
    """One memory, explained under a and under b."""

    id: str
    content: str
    a: Explanation
    b: Explanation


class Drilldown(msgspec.Struct, frozen=True, kw_only=True):
    """One question; the memories of a's answer in order, then those that only b has."""

    name: str
    text: str
    basis: int
    a: str
    b: str
    memories: tuple[BothWays, ...]


def drill(log: Log, projections: Projections, asked: Asked, a: Formula, b: Formula) -> Drilldown:
    time = log.time_of(asked.basis)
    once, view = SharedSearch(projections, asked.basis, time), projections.at(asked.basis, time)
    answers = [FormulaSide(log, projections, formula).rank(asked, once).ids for formula in (a, b)]

    def explained(formula: Formula, memory_id: str) -> Explanation:
        recorded = asked.recorded.formula if asked.recorded else None
        question = under(asked.question, formula=formula.digest, recorded=recorded)
        return explain(question, view, formula, memory_id, recall=asked.name)

    return Drilldown(
        name=asked.name,
        text=asked.question.text,
        basis=asked.basis,
        a=a.label,
        b=b.label,
        memories=tuple(
            BothWays(
                id=id_,
                content=text_of(log, projections, id_, asked.basis),
                a=explained(a, id_),
                b=explained(b, id_),
            )
            for id_ in dict.fromkeys((*answers[0], *answers[1]))
        ),
    )
