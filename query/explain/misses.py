"""Where a miss was lost, with the number it had and the number it needed."""

from __future__ import annotations

import math

from recollect.projections.hard_filters import scope_of
from recollect.query.explain.case import Case
from recollect.query.explanation import BEFORE_ALL_STAGES, ChannelPart, Drop
from recollect.query.sheet import KEPT
from recollect.query.stages.any_stage import AnyStage
from recollect.query.stages.filtering import Abstain, Cut, Deduplicate, Exclude, Filter, Silence
from recollect.query.stages.jumping import Shortcut
from recollect.query.stages.retrieving import Retrieve


def drop_of(case: Case, channels: tuple[ChannelPart, ...]) -> Drop | None:
    """None for a hit."""
    if case.rank is not None:
        return None
    if case.place < 0:
        return _shut_out(case) or _not_found(case, channels)
    if case.dropped_at != KEPT:
        return _dropped(case)
    return _below(case) if case.position is not None else _unscored(case)


def _shut_out(case: Case) -> Drop | None:
    """Not born yet, hidden, expired or out of scope: no stage may ever see it."""
    seq, documents = case.view.seq, case.view.documents
    if documents.newest_row(case.memory, seq) < 0:
        born = documents.born[documents.versions_of(case.memory)[0]]
        return _before(f"not yet born: it was remembered at @{born}, the question was asked of @{seq}")
    lifecycle, question = case.view.lifecycle, case.question
    if case.row < 0:
        erased_at = documents.erased_since(case.memory, seq)
        if erased_at is not None:
            return _before(f"erased at @{erased_at}")
        return _before(lifecycle.state(case.memory, seq).hidden or "hidden")
    refusal = lifecycle.refusal(case.memory, seq=seq, now=question.now, filters=scope_of(question))
    return _before(refusal) if refusal else None


def _before(reason: str) -> Drop:
    return Drop(number=BEFORE_ALL_STAGES, title="before any stage", had=None, needed=None, reason=reason)


# --- never a candidate -----------------------------------------------------------------------------


def _not_found(case: Case, channels: tuple[ChannelPart, ...]) -> Drop:
    """No channel found it: explain by the channel where it came nearest, or without any value by the first channel."""
    if not channels:
        return _passed_over(case)
    nearest = max(channels, key=_nearness)
    stage = case.formula.stages[nearest.number - 1]
    assert isinstance(stage, Retrieve)
    needed = stage.min if stage.min is not None and _below_minimum(stage, nearest) else nearest.last
    return Drop(
        number=nearest.number,
        title=stage.title,
        had=nearest.value,
        needed=needed,
        reason=_why_not_found(case, stage, nearest),
    )


def _passed_over(case: Case) -> Drop:
    """No retrieving stage was applied: the last stage before the jump decided which memories are candidates."""
    first = next((n for n in case.trace.moments if case.trace.moments[n].candidates), BEFORE_ALL_STAGES)
    return Drop(
        number=first + 1,
        title=case.formula.stages[first].title,
        had=None,
        needed=None,
        reason="it was not among the candidates, and no retrieving stage was applied",
    )


def _nearness(part: ChannelPart) -> tuple[bool, float]:
    if part.value is None:
        return False, 0.0
    return True, part.value / part.last if part.last else 0.0


def _below_minimum(stage: Retrieve, part: ChannelPart) -> bool:
    return stage.min is not None and part.value is not None and part.value < stage.min


def _why_not_found(case: Case, stage: Retrieve, part: ChannelPart) -> str:
    if part.value is None:
        return _why_no_value(case, stage)
    if _below_minimum(stage, part):
        return f"its {part.name} value {part.value:.6g} is below the stage's minimum {stage.min:g}"
    if part.last is not None and part.value < part.last:
        return (
            f"its {part.name} value {part.value:.6g} is below {part.last:.6g}, that of the last of the "
            f"{part.found} memories found"
        )
    if part.value == part.last:
        return f"its {part.name} value equals that of the last of {part.found} found; the memory id decided"
    return f"its {part.name} value {part.value:.6g} would do, but the approximate index passed it over"


def _why_no_value(case: Case, stage: Retrieve) -> str:
    if stage.channel == "lexical":
        return "no word of the question is in it"
    if stage.channel == "vector":
        whose = "the question" if case.question.vector is None else "it"
        return f"{whose} has no vector of the embedder in force"
    return f"the channel {stage.channel!r} has no value for it"


# --- candidates that were lost -----------------------------------------------------------------------


def _dropped(case: Case) -> Drop:
    stage = case.formula.stages[case.dropped_at]
    had, needed = float(case.sheet.had[case.place]), float(case.sheet.needed[case.place])
    return Drop(
        number=case.dropped_at + 1,
        title=stage.title,
        had=_number(had),
        needed=_number(needed),
        reason=_why_dropped(stage, had, needed),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _why_dropped(  # noqa: PLR0911 (one line per way to be dropped)
    stage: AnyStage, had: float, needed: float
) -> str:
    match stage:
        case Filter(by=by) if math.isnan(had):
            return f"it has no {by}, which the stage requires"
        case Filter(by=by):
            limit = "at least" if had < needed else "at most"
            return f"its {by} is {had:.6g}, the stage keeps {limit} {needed:.6g}"
        case Abstain() if math.isnan(had):
            return "it has none of the values that the stage asks for"
        case Abstain():
            return f"its value is {had:.6g}, the stage asks for at least {needed:.6g}"
        case Exclude(kinds=kinds):
            return f"the stage leaves out its kind (one of {', '.join(kinds)})"
        case Deduplicate():
            return f"it says the same as a better candidate (likeness {had:.6g}, the limit is {needed:.6g})"
        case Cut() if stage.tokens is not None and had > needed:
            return f"it takes {had:.0f} tokens, {needed:.0f} were left"
        case Cut():
            return f"it came after the best {stage.top}, with the score {had:.6g} to {needed:.6g} of the last"
        case Silence():
            return f"no candidate is near enough (at least {needed:.6g} is asked for), so none is given"
        case Shortcut(column=column):
            return f"it has no {column}, which decided alone"
        case _:
            return f"it had {had:.6g}, the stage asks for {needed:.6g}"


def _below(case: Case) -> Drop:
    k, position, score = case.question.k, case.position, case.score
    assert position is not None
    assert score is not None
    last = case.score_at(k - 1)
    how = case.decided_by(case.ranking.order[k - 1], case.place)
    behind = f"{last - score:.3g} below" if how == "score" else f"by {how} behind"
    return Drop(
        number=len(case.formula.stages) + 1,
        title=f"the best {k}",
        had=score,
        needed=last,
        reason=f"it came in at {position + 1} of {len(case.ranking.order)}, {behind} {case.id_at(k - 1)}, "
        f"the last of the best {k}",
    )


def _unscored(case: Case) -> Drop:
    return Drop(
        number=len(case.formula.stages) + 1,
        title=f"the best {case.question.k}",
        had=None,
        needed=None,
        reason="it became a candidate, but no stage gave it a score",
    )
