"""explain: the ranking made once, with one memory watched, and read off as an explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping

from recollect.events.clock import iso
from recollect.events.facts import Question
from recollect.projections.portable_math import round12
from recollect.projections.view import View
from recollect.query.explain.case import CandidateStep, Case
from recollect.query.explain.channel_parts import channel_parts
from recollect.query.explain.counterfactual import counterfactual
from recollect.query.explain.lineage import provenance
from recollect.query.explain.misses import drop_of
from recollect.query.explain.reasons import reasons
from recollect.query.explain.sentence import sentence
from recollect.query.explanation import Explanation, Neighbour, StagePart, State, Values
from recollect.query.formula import Formula
from recollect.query.sheet import KEPT
from recollect.query.stages.any_stage import AnyStage


def explain(
    question: Question, view: View, formula: Formula, memory_id: str, *, recall: str | None = None
) -> Explanation:
    """Why a memory ranks where it does for this question; UnknownMemory if there never was one of that id."""
    return explain_case(Case(question, view, formula, memory_id), recall=recall)


def explain_case(case: Case, *, recall: str | None = None, exact: bool | None = None) -> Explanation:
    channels, stages = channel_parts(case), _stages(case)
    drop = drop_of(case, channels)
    above, below = _neighbour(case, -1), _neighbour(case, +1)
    candidates = len(case.ranking.order)
    rival = _rival(case)
    found = reasons(case, rival)
    against = None if rival is None else case.id_at(rival)
    return Explanation(
        sentence=sentence(
            rank=case.rank, candidates=candidates, channels=channels, stages=stages,
            above=above, below=below, drop=drop, reasons=found, against=against,
        ),
        id=case.id,
        recall=recall,
        query=case.question.text,
        basis=case.view.seq,
        now=iso(case.question.now),
        formula=case.formula.label,
        embedder=case.question.embedder,
        k=case.question.k,
        rank=case.rank,
        score=case.score,
        candidates=candidates,
        above=above,
        below=below,
        tie_break=any(n is not None and n.decided_by != "score" for n in (above, below)),
        dropped_at=drop,
        channels=channels,
        stages=stages,
        provenance=provenance(case),
        facts=dict(case.sheet.facts),
        counterfactual=counterfactual(case),
        reasons=found,
        against=against,
        exact=exact,
    )  # fmt: skip


# --- stages ----------------------------------------------------------------------------------------


def _stages(case: Case) -> tuple[StagePart, ...]:
    came = math.inf if case.place < 0 else case.trace.came_at(case.place)
    steps = {step.number: step for step in case.own_steps}
    parts: list[StagePart] = []
    columns: Mapping[str, float] = {}
    score = math.nan
    for number in range(len(case.formula.stages)):
        state = _state(case, number, came)
        seen = state in ("applied", "dropped it")
        part = _part(case, number, state, steps.get(number) if seen else None, score, columns)
        if seen:
            columns = case.trace.moments[number].columns
            score = steps[number].after if number in steps else score
        parts.append(part)
    return tuple(parts)


def _state(case: Case, number: int, came: float) -> State:
    if number not in case.trace.moments:
        return _why_left_out(case, case.formula.stages[number])
    if case.place < 0:
        return "never saw it"
    if number < came:
        return "before it came"
    if case.dropped_at in (KEPT, number):
        return "applied" if case.dropped_at == KEPT else "dropped it"
    return "applied" if number < case.dropped_at else "after it was dropped"


def _why_left_out(case: Case, stage: AnyStage) -> State:
    if not stage.enabled:
        return "disabled"
    return "left out by a dial" if case.ctx.dial(stage.when) == 0.0 else "jumped over"


def _part(
    case: Case,
    number: int,
    state: State,
    step: CandidateStep | None,
    score: float,
    columns: Mapping[str, float],
) -> StagePart:
    stage = case.formula.stages[number]
    if state not in ("applied", "dropped it"):
        return StagePart(number=number + 1, op=_op(case, number), title=stage.title, state=state)
    moment = case.trace.moments[number]
    inputs = {**moment.inputs, **({"score": score} if "score" in moment.inputs else {})}
    wrote = {name: value for name, value in moment.columns.items() if columns.get(name) != value}
    return StagePart(
        number=number + 1,
        op=_op(case, number),
        title=stage.title,
        state=state,
        inputs=_values(inputs),
        reads={} if step is None else _values(step.reads),
        wrote=_values(wrote),
        scored=step is not None,
        before=_number(score),
        after=_number(score if step is None else step.after),
    )


def _op(case: Case, number: int) -> str:
    return str(case.formula.stages[number].__struct_config__.tag)


def _values(values: Mapping[str, float]) -> Values:
    return {name: _number(value) for name, value in values.items()}


def _number(value: float) -> float | None:
    """None for no value: NaN, and the extremes of an empty batch."""
    return value if math.isfinite(value) else None


def _rival(case: Case) -> int | None:
    """The memory to compare with: the next hit; for the last hit the one before it; for a miss the last hit."""
    last = len(case.ranking.order) - 1
    if case.position is None or last < 1:
        return None
    if case.rank is None:
        return case.question.k - 1
    return case.position + 1 if case.position < last else case.position - 1


# --- neighbours ------------------------------------------------------------------------------------


def _neighbour(case: Case, offset: int) -> Neighbour | None:
    if case.position is None or not 0 <= case.position + offset < len(case.ranking.order):
        return None
    position = case.position + offset
    own, other = case.score_at(case.position), case.score_at(position)
    upper, lower = sorted((case.position, position))
    return Neighbour(
        id=case.id_at(position),
        rank=position + 1,
        score=other,
        margin=round12(abs(own - other)),
        decided_by=case.decided_by(case.ranking.order[upper], case.ranking.order[lower]),
    )
