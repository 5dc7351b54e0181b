"""The results of the audit tools in words."""

from __future__ import annotations

from recollect.engine.event_summaries import spelled_filters
from recollect.engine.recalls import Recalls, RecordedRecall
from recollect.engine.safe_text import INDENT, block, telling
from recollect.engine.show import Shown, ShownEvent, ShownFormula
from recollect.engine.show_dream import ShownDream
from recollect.engine.show_memory import ShownMemory
from recollect.engine.show_recall import ShownRecall
from recollect.interfaces.mcp.audit_arguments import (
    CompareResult,
    DreamResult,
    HistoryResult,
    VerifyResult,
    WhyChangedResult,
)
from recollect.interfaces.mcp.results import WriteResult


@telling
def recalls(result: Recalls) -> str:
    lines = [
        f"{row.id} {row.at} {row.query!r}: {row.hits} hits{_asked(row)}, {row.formula}" for row in result
    ]
    more = [] if result.before is None else [f"older ones: before='r{result.before}'"]
    return "\n".join([*(lines or ["no recalls"]), *more])


def _asked(row: RecordedRecall) -> str:
    filters = ", ".join(f"{name} {value}" for name, value in spelled_filters(row.filters).items())
    session = "" if row.session is None else f", session {row.session}"
    return session + (f", {filters}" if filters else "")


@telling
def shown(result: Shown) -> str:
    match result:
        case ShownRecall():
            return _recall(result)
        case ShownMemory():
            return _memory(result)
        case ShownEvent():
            return f"@{result.seq} {result.at} {result.type}: {result.summary}"
        case ShownDream():
            lines = [f"{one.id} {one.what}: {one.before} → {one.after} ({one.why})" for one in result.changes]
            return "\n".join([f"dream {result.id}, {result.at}", *(lines or ["it changed nothing"])])
        case ShownFormula():
            return f"formula {result.name}\n{INDENT}{block(result.text)}"


def _memory(result: ShownMemory) -> str:
    state = "visible" if result.visible else f"hidden: {result.hidden_because}"
    versions = [
        f"version {one.revision} @{one.seq} {one.at}: {block(one.content)}" for one in result.versions
    ]
    links = [f"{one.a} -{one.kind}-> {one.b} ({one.weight:g})" for one in result.links]
    recalls = [f"{one.recall} {one.at} rank {one.rank}: {one.query!r}" for one in result.recalls]
    return "\n".join([f"{result.id} ({state}): {block(result.content)}", *versions, *links, *recalls])


def _recall(result: ShownRecall) -> str:
    hits = [
        f"{hit.rank}. {hit.id} {hit.score:.12g} {hit.at} {hit.kind}: {block(hit.content)}"
        for hit in result.hits
    ]
    later = [f"@{one.seq} {one.what}: {', '.join(one.ids)}" for one in result.afterwards]
    lines = [f"{result.id} {result.at} {result.query!r} with {result.formula} at @{result.basis}"]
    return "\n".join([*lines, *(hits or ["no hits"]), result.replayed.sentence, *later, *result.degraded])


@telling
def why_changed(result: WhyChangedResult) -> str:
    parts = [f"{part.cause}: score {part.score:+.6g}, {part.says}" for part in result.causes if part.score]
    notes = [
        *([result.redacted] if result.redacted else []),
        *(f"degraded: {note}" for note in result.degraded),
    ]
    return "\n".join([result.sentence, *parts, *notes])


@telling
def history(result: HistoryResult) -> str:
    lines = [f"@{event.seq} {event.at} {event.type}: {event.summary}" for event in result.events]
    return "\n".join([*([f"{result.earlier} earlier events"] if result.earlier else []), *lines])


@telling
def compare(result: CompareResult) -> str:
    numbers = ", ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
    movers = [
        f"{mover.question!r}: {mover.id} from {mover.before or 'nowhere'} to {mover.after or 'nowhere'}"
        for mover in result.movers
    ]
    head = f"{result.before} against {result.after} over {result.questions} recorded questions"
    return "\n".join([result.sentence, head, numbers, *movers])


@telling
def verify(result: VerifyResult) -> str:
    lines = [
        f"{result.verdict}: {result.sentence}",
        *result.contradictions,
        *result.differences,
        *result.damage,
    ]
    return "\n".join([*lines, *result.notes])


@telling
def dream(result: DreamResult) -> str:
    done = ", ".join(f"{phase} {count}" for phase, count in result.counts.items() if count) or "nothing"
    state = "written" if result.committed else result.refused or "nothing was written"
    without = "".join(f"\ndegraded: {note}" for note in result.degraded)
    return f"dream {result.id}: {done} changed; {state}{without}"


@telling
def rated(result: WriteResult) -> str:
    return f"{result.id} rated (written @{result.seq})"


@telling
def linked(result: WriteResult) -> str:
    return f"linked from {result.id} (written @{result.seq})"
