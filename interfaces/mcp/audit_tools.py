"""The tools that `--profile audit` adds: recalls, show, why_not, why_changed, history, compare, verify, dream, rate, link.

What replays writes nothing. Each gives the short form of what its Python twin gives in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from recollect.engine.recalls import Recalls
from recollect.engine.show import Shown
from recollect.interfaces.mcp import audit_arguments, why_text
from recollect.interfaces.mcp import audit_text as text
from recollect.interfaces.mcp.audit_arguments import (
    CompareResult,
    DreamResult,
    EventResult,
    HistoryResult,
    MoverResult,
    VerifyResult,
    WhyChangedResult,
    WhyResult,
)
from recollect.interfaces.mcp.results import WriteResult, short_form
from recollect.interfaces.mcp.tool import Call, Tools

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory

TOOLS = Tools()

_MOVERS_MAX = 10
_DIFFERENCES_MAX = 20


@TOOLS.add("Recorded recalls", text.recalls, reads=True)
def recalls(memory: Memory, given: audit_arguments.FindRecalls, _: Call) -> Recalls:
    """Recorded questions and how they were asked, newest first; `before` asks for the next page."""
    return memory.recalls(**msgspec.structs.asdict(given))


@TOOLS.add("Show one thing", text.shown, reads=True)
def show(memory: Memory, given: audit_arguments.Show, _: Call) -> Shown:
    """Everything about one thing: a recall (r12), a memory, an event (@12), a dream or a formula."""
    return memory.show(given.name)


@TOOLS.add("Why was it not there", why_text.in_words, reads=True)
def why_not(memory: Memory, given: audit_arguments.Why, _: Call) -> WhyResult:
    """Why a memory was not in a recorded answer: where it was lost, and what it lacked."""
    return why_text.explained(memory.why_not(given.recall, given.id))


@TOOLS.add("Why did its rank change", text.why_changed, reads=True, needs_model=lambda _: True)
def why_changed(memory: Memory, given: audit_arguments.WhyChanged, call: Call) -> WhyChangedResult:
    """Why a memory's rank for a question differs between two moments, cause by cause."""
    options = given.options() | {"formula": call.scope.formula(memory, given.formula)}
    found = memory.why_changed(given.query, given.id, given.since, given.until, **options)
    ranks = {"rank_since": found.since.rank, "rank_until": found.until.rank}
    return short_form(WhyChangedResult, found, causes=found.parts, **ranks)


@TOOLS.add("History of a memory", text.history, reads=True)
def history(memory: Memory, given: audit_arguments.History, _: Call) -> HistoryResult:
    """Every event that touched a memory, oldest first."""
    events = memory.history(given.id)
    shown = events[-given.last :]
    return HistoryResult(
        id=given.id,
        events=tuple(short_form(EventResult, event) for event in shown),
        earlier=len(events) - len(shown),
    )


@TOOLS.add("Compare formulas", text.compare, lane="long", reads=True)
def compare(memory: Memory, given: audit_arguments.Compare, call: Call) -> CompareResult:
    """Every recorded question ranked under another formula: how much would change, and what."""
    before, after = (
        side if side == "recorded" else call.scope.formula(memory, side)
        for side in (given.against, given.formula)
    )
    found = memory.compare(before, after, last=given.last, k=given.k, progress=call.progress)
    movers = [
        MoverResult(question=mover.text, id=mover.id, before=mover.rank_a, after=mover.rank_b)
        for mover in found.movers[:_MOVERS_MAX]
    ]
    return short_form(CompareResult, found, before=found.a, after=found.b, movers=movers)


@TOOLS.add("Verify", text.verify, lane="long", reads=True)
def verify(memory: Memory, given: audit_arguments.Verify, call: Call) -> VerifyResult:
    """Rank every recorded recall again and compare it with what was recorded, bit for bit."""
    found = memory.verify(independent=given.independent, progress=call.progress)
    return short_form(
        VerifyResult,
        found,
        differences=[
            f"{one.recall}{f' at rank {one.rank}' if one.rank else ''}: {one.reason}"
            for one in found.differences[:_DIFFERENCES_MAX]
        ],
        damage=[f"@{one.seq} in {one.path}: {one.problem}" for one in found.damage[:_DIFFERENCES_MAX]],
        contradictions=[f"{one.witness}: {one.problem}" for one in found.contradictions],
    )


@TOOLS.add("Dream", text.dream, lane="long", replaces=True)
def dream(memory: Memory, given: audit_arguments.Dream, _: Call) -> DreamResult:
    """One cycle of sleep: memories are consolidated, weakened, pruned and promoted. It is written as one batch that
    `recollect undream` takes back. Try dry_run first.
    """
    return short_form(DreamResult, memory.dream(dry_run=given.dry_run, max_churn=given.max_churn))


@TOOLS.add("Rate a memory", text.rated, lane="writes")
def rate(memory: Memory, given: audit_arguments.Rate, call: Call) -> WriteResult:
    """Say that a memory was helpful, unhelpful or outdated; later rankings take it into account."""
    session = call.scope.session_of(given.session)
    return WriteResult(
        id=given.id, seq=memory.rate(given.id, given.verdict, recall=given.recall, session=session)
    )


@TOOLS.add("Link two memories", text.linked, lane="writes", repeatable=True)
def link(memory: Memory, given: audit_arguments.Link, _: Call) -> WriteResult:
    """A typed edge from one memory to another; the same edge again replaces its weight."""
    return WriteResult(id=given.a, seq=memory.link(given.a, given.b, given.kind, given.weight))
