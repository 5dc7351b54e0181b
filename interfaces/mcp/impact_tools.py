"""The audit tools that question what was recorded: impact, stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from recollect.engine.safe_text import telling
from recollect.interfaces.mcp.results import short_form
from recollect.interfaces.mcp.tool import Call, Tools
from recollect.interfaces.mcp.tool_arguments import Id

if TYPE_CHECKING:
    from recollect.engine.stale import StaleCause
    from recollect.interfaces.python.memory import Memory

TOOLS = Tools()

Last = Annotated[int, Meta(description="Only the newest so many answers.", ge=1, le=1_000)]


class Impact(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    last: Last = 50


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    last: Last = 50


class ImpactedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded answer, and the ids that it would have had without the memory; none if that cannot be said."""

    recall: str
    at: str
    query: str
    session: str | None
    rank: int
    ids: tuple[str, ...]
    without: tuple[str, ...] | None
    changed: bool
    used: bool


class ImpactResult(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded answers that held a memory, newest first, `total` in all; `changed` would have been different."""

    id: str
    total: int
    changed: int
    first_changed: int
    unknown: int
    sessions: dict[str, int]
    derived: tuple[str, ...]
    answers: tuple[ImpactedResult, ...]


class StaleAnswerResult(msgspec.Struct, frozen=True, kw_only=True):
    recall: str
    at: str
    query: str
    session: str | None
    actor: str
    id: str
    rank: int
    causes: tuple[str, ...]
    answering: bool


class StaleResult(msgspec.Struct, frozen=True, kw_only=True):
    """Stale answers, newest first, `total` in all; `answering` are the memories that still answer."""

    total: int
    checked: int
    answering: tuple[str, ...]
    sessions: tuple[str, ...]
    answers: tuple[StaleAnswerResult, ...]


@telling
def impact_text(result: ImpactResult) -> str:
    head = (
        f"{result.id} was in {result.total} recorded answers; without it {result.changed} would have been different, "
        f"{result.first_changed} with another first hit"
    )
    lines = [
        f"{one.recall} {one.query!r}: at {one.rank} of {', '.join(one.ids)}; "
        f"without it {'not known' if one.without is None else ', '.join(one.without) or 'nothing'}"
        for one in result.answers
    ]
    derived = [f"derived from it: {', '.join(result.derived)}"] if result.derived else []
    return "\n".join([head, *derived, *lines])


@telling
def stale_text(result: StaleResult) -> str:
    head = f"{result.total} stale answers in {result.checked} recorded recalls"
    lines = [
        f"{one.recall} {one.query!r}: {one.id} at {one.rank}, {'; '.join(one.causes)}; "
        f"{'still answers' if one.answering else 'answers no more'}"
        for one in result.answers
    ]
    return "\n".join([head, *lines])


@TOOLS.add("Impact of a memory", impact_text, lane="long", reads=True)
def impact(memory: Memory, given: Impact, call: Call) -> ImpactResult:
    """Which recorded answers held a memory, and what each would have been had it never been told."""
    found = memory.impact(given.id, progress=call.progress)
    derived = [one.id for one in found.derived]
    return short_form(
        ImpactResult, found, total=len(found.answers), derived=derived, answers=found.answers[: given.last]
    )


@TOOLS.add("Stale answers", stale_text, lane="long", reads=True)
def stale(memory: Memory, given: Stale, call: Call) -> StaleResult:
    """Recorded answers from memories that were superseded, contradicted or no longer valid, and who was told."""
    found = memory.stale(progress=call.progress)
    answers = [
        short_form(StaleAnswerResult, one, causes=[_cause(cause) for cause in one.causes])
        for one in found.answers[: given.last]
    ]
    return short_form(StaleResult, found, total=len(found.answers), answers=answers)


def _cause(cause: StaleCause) -> str:
    return f"{cause.kind}{f' by {cause.by}' if cause.by else ''} since {cause.since}"
