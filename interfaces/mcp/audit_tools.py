"""The tools that `--profile audit` adds: recalls, show, why_not, why_changed, history, compare, verify, dream, rate, link;
and `why`, which every server has.

What replays writes nothing. Each gives the short form of what its Python twin gives in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from recollect.engine.recalls import Recalls
from recollect.engine.show import Shown
from recollect.interfaces.mcp import audit_arguments, why_tools
from recollect.interfaces.mcp import audit_text as text
from recollect.interfaces.mcp.audit_arguments import (
    CompareResult,
    DreamResult,
    EventResult,
    HistoryResult,
    MoverResult,
    VerifyResult,
    WhyChangedResult,
)
from recollect.interfaces.mcp.results import WriteResult, short_form
from recollect.interfaces.mcp.tool import AnyTool, Call, Tool

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory

_MOVERS_MAX = 10
_DIFFERENCES_MAX = 20


def why_changed(memory: Memory, given: audit_arguments.WhyChanged, call: Call) -> WhyChangedResult:
    options = given.options() | {"formula": call.scope.formula(memory, given.formula)}
    found = memory.why_changed(given.query, given.id, given.since, given.until, **options)
    ranks = {"rank_since": found.since.rank, "rank_until": found.until.rank}
    return short_form(WhyChangedResult, found, causes=found.parts, **ranks)


def recalls(memory: Memory, given: audit_arguments.FindRecalls, _: Call) -> Recalls:
    return memory.recalls(**msgspec.structs.asdict(given))


def show(memory: Memory, given: audit_arguments.Show, _: Call) -> Shown:
    return memory.show(given.name)


def history(memory: Memory, given: audit_arguments.History, _: Call) -> HistoryResult:
    events = memory.history(given.id)
    shown = events[-given.last :]
    return HistoryResult(
        id=given.id,
        events=tuple(short_form(EventResult, event) for event in shown),
        earlier=len(events) - len(shown),
    )


def compare(memory: Memory, given: audit_arguments.Compare, call: Call) -> CompareResult:
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


def verify(memory: Memory, given: audit_arguments.Verify, call: Call) -> VerifyResult:
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


def dream(memory: Memory, given: audit_arguments.Dream, _: Call) -> DreamResult:
    return short_form(DreamResult, memory.dream(dry_run=given.dry_run, max_churn=given.max_churn))


def rate(memory: Memory, given: audit_arguments.Rate, call: Call) -> WriteResult:
    session = call.scope.session_of(given.session)
    return WriteResult(
        id=given.id, seq=memory.rate(given.id, given.verdict, recall=given.recall, session=session)
    )


def link(memory: Memory, given: audit_arguments.Link, _: Call) -> WriteResult:
    return WriteResult(id=given.a, seq=memory.link(given.a, given.b, given.kind, given.weight))


TOOLS: tuple[AnyTool, ...] = (
    Tool(
        name="recalls",
        title="Recorded recalls",
        description="Recorded questions and how they were asked, newest first; `before` asks for the next page.",
        arguments=audit_arguments.FindRecalls, result=Recalls, run=recalls, show=text.recalls, reads=True,
    ),
    Tool(
        name="show",
        title="Show one thing",
        description="Everything about one thing: a recall (r12), a memory, an event (@12), a dream or a formula.",
        arguments=audit_arguments.Show, result=Shown, run=show, show=text.shown, reads=True,
    ),
    why_tools.WHY_NOT,
    Tool(
        name="why_changed",
        title="Why did its rank change",
        description="Why a memory's rank for a question differs between two moments, cause by cause.",
        arguments=audit_arguments.WhyChanged, result=WhyChangedResult, run=why_changed, show=text.why_changed,
        reads=True, needs_model=lambda _: True,
    ),
    Tool(
        name="history",
        title="History of a memory",
        description="Every event that touched a memory, oldest first.",
        arguments=audit_arguments.History, result=HistoryResult, run=history, show=text.history, reads=True,
    ),
    Tool(
        name="compare",
        title="Compare formulas",
        description="Every recorded question ranked under another formula: how much would change, and what.",
        arguments=audit_arguments.Compare, result=CompareResult, run=compare, show=text.compare, lane="long", reads=True,
    ),
    Tool(
        name="verify",
        title="Verify",
        description="Rank every recorded recall again and compare it with what was recorded, bit for bit.",
        arguments=audit_arguments.Verify, result=VerifyResult, run=verify, show=text.verify, lane="long", reads=True,
    ),
    Tool(
        name="dream",
        title="Dream",
        description=(
            "One cycle of sleep: memories are consolidated, weakened, pruned and promoted. It is written as one "
            "batch that `recollect undream` takes back. Try dry_run first."
        ),
        arguments=audit_arguments.Dream, result=DreamResult, run=dream, show=text.dream, lane="long", replaces=True,
    ),
    Tool(
        name="rate",
        title="Rate a memory",
        description="Say that a memory was helpful, unhelpful or outdated; later rankings take it into account.",
        arguments=audit_arguments.Rate, result=WriteResult, run=rate, show=text.rated, lane="writes",
    ),
    Tool(
        name="link",
        title="Link two memories",
        description="A typed edge from one memory to another; the same edge again replaces its weight.",
        arguments=audit_arguments.Link, result=WriteResult, run=link, show=text.linked, lane="writes", repeatable=True,
    ),
)  # fmt: skip
