"""The results of the default tools in words: what a model reads where a client shows it no structured content.

Only our own lines begin at the margin, so that no memory can write one (`recollect.engine.safe_text`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.engine.safe_text import INDENT, block, telling
from recollect.interfaces.common.hit_fields import hit_fields
from recollect.interfaces.mcp.results import (
    ForgetResult,
    MemoryResult,
    RecalledHit,
    RecallResult,
    RecentMemory,
    RecentResult,
    RememberResult,
    ReviseResult,
    StatusResult,
    WriteResult,
    short_form,
)

if TYPE_CHECKING:
    from recollect.engine.answers import Memo


def _hit(one: RecalledHit) -> str:
    """A number at the beginning of a line opens a hit; the lines of its text are indented."""
    return f"{one.rank}. [{one.id}] {block(one.content)} ({hit_fields(one)})"


hit = telling(_hit)


@telling
def recalled(result: RecallResult) -> str:
    lines = [_hit(one) for one in result.hits] or [nothing(result)]
    if result.left_out and result.hits:
        lines.append(f"{result.left_out} more did not fit into max_tokens{left_out(result)}")
    lines += [f"degraded: {problem}" for problem in result.degraded]
    where = f"at @{result.basis} with {result.formula}"
    lines.append(f"({result.recall} {where})" if result.recall else f"(not recorded; {where})")
    return "\n".join(lines)


def nothing(result: RecallResult) -> str:
    if not result.left_out:
        return "No memory matches."
    return f"None of the {result.left_out} memories that match fits into max_tokens{left_out(result)}"


def left_out(result: RecallResult) -> str:
    if not result.left_out_ids:
        return ""
    rest = result.left_out - len(result.left_out_ids)
    return ": " + ", ".join(result.left_out_ids) + (f" and {rest} more" if rest else "")


@telling
def recent(result: RecentResult) -> str:
    lines = [f"- [{one.id}] {block(one.content)} ({hit_fields(one)})" for one in result.memories]
    if result.left_out:
        lines.append(f"{result.left_out} more did not fit into max_tokens")
    return "\n".join(lines or ["No memory is there."])


@telling
def noted(result: WriteResult) -> str:
    return f"noted as used (written @{result.seq})"


@telling
def remembered(result: RememberResult) -> str:
    if result.unchanged:
        return f"{result.id} was remembered already, and says the same; nothing was written"
    said = f"Remembered as {result.id}" + (f", revision {result.revision}" if result.revision > 1 else "")
    near = (
        f"resembles {one.id} (cosine {one.cosine:.2f}{', by words' if one.by == 'words' else ''}, {one.when}): {one.content}"
        for one in result.similar
    )
    return _with_notes("\n".join((said, *near)), result.degraded)


@telling
def revised(result: ReviseResult) -> str:
    return _with_notes(f"{result.id} is now at revision {result.revision}", result.degraded)


@telling
def forgotten(result: ForgetResult) -> str:
    if result.seq is None:
        return f"{result.id} was forgotten already; nothing was written"
    return f"{result.id} no longer answers (written @{result.seq})"


def memory_result(memo: Memo) -> MemoryResult:
    """A memo as the tools give it: times as ISO 8601, and without the numbers that only a formula needs."""
    state = memo.state
    times = ("created_at", "updated_at", "valid_from", "valid_to", "expires_at")
    return short_form(
        MemoryResult, state, id=memo.id, at=memo.at, content=memo.content, visible=memo.visible,
        hidden_because=memo.hidden_because, revisions=state.revision_count, accesses=state.access_count,
        used=state.used_count, status=state.consolidation_status,
        **{name: _moment(getattr(state, name)) for name in times},
    )  # fmt: skip


def recent_memory(memo: Memo) -> RecentMemory:
    state = memo.state
    return short_form(
        RecentMemory, state, id=memo.id, content=memo.content, at=_moment(state.created_at), revision=state.revision_count
    )  # fmt: skip


def _moment(at: int | None) -> str | None:
    from recollect.engine.moments import iso  # noqa: PLC0415 (tools are listed before the engine is loaded)

    return None if at is None else iso(at)


@telling
def one_memory(result: MemoryResult) -> str:
    known = {
        "kind": result.kind, "tags": ", ".join(result.tags), "entities": ", ".join(result.entities),
        "project": result.project, "session": result.session, "source": result.source,
        "importance": f"{result.importance:g}", "created": result.created_at, "revisions": result.revisions,
        "accesses": result.accesses, "valid from": result.valid_from, "valid to": result.valid_to,
        "expires": result.expires_at, "superseded by": result.superseded_by,
    }  # fmt: skip
    state = "; ".join(f"{name} {value}" for name, value in known.items() if value)
    hidden = "" if result.visible else f"\nIt does not answer: it is {result.hidden_because}."
    return f"[{result.id}] as of @{result.at}\n{INDENT}{block(result.content)}\n({state}){hidden}"


@telling
def status(result: StatusResult) -> str:
    lines = [
        f"{result.store}: {result.visible} of {result.memories} memories answer, {result.recalls} recalls, head @{result.head}",
        f"formula {result.formula}; embedder {result.embedder or 'none'} ({result.model})",
        f"last dream {f'@{result.last_dream}' if result.last_dream else 'never'}, {result.new_since_dream} new since",
        f"profile {result.profile}, project {result.project or 'any'}, session {result.session or 'none'}",
    ]
    return "\n".join(lines + [f"degraded: {problem}" for problem in result.degraded])


def _with_notes(said: str, degraded: tuple[str, ...]) -> str:
    return "\n".join((said, *(f"degraded: {note}" for note in degraded)))
