"""The tools of every server, few on purpose: remember, recall, get, recent, used, why, revise, forget, status.

`recall` is not read-only, and says so: it records the question with its answer, and the memories that it shows
count as accessed, which later rankings may read. With `record=false`, or `at`, it writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from recollect.engine.lazy import LazyModule
from recollect.engine.names import whole_id
from recollect.engine.validate import is_recall_id
from recollect.events.errors import HeadMoved, InvalidInput, RecollectError
from recollect.interfaces.mcp import audit_arguments, text, tool_arguments, why_text
from recollect.interfaces.mcp.audit_arguments import WhyResult
from recollect.interfaces.mcp.budget import fit, tokens_of
from recollect.interfaces.mcp.idempotency import existing_memory, require_same_memory
from recollect.interfaces.mcp.results import (
    ForgetResult,
    MemoryResult,
    RecalledHit,
    RecallResult,
    RecentMemory,
    RecentResult,
    RememberResult,
    ReviseResult,
    SimilarResult,
    StatusResult,
    WriteResult,
    short_form,
)
from recollect.interfaces.mcp.tool import ALL_PROJECTS, Call, Scope, Tools

if TYPE_CHECKING:
    from recollect.engine import similar as similarity
    from recollect.engine.answers import Answer, Hit
    from recollect.interfaces.python.memory import Memory

if not TYPE_CHECKING:  # tools are listed before the engine is loaded
    similarity = LazyModule("recollect.engine.similar")

TOOLS = Tools()

_DIGITS = 4
_LEFT_OUT_MAX = 20
_ATTEMPTS = 50


@TOOLS.add("Remember", text.remembered, lane="writes", needs_model=lambda _: True)
def remember(memory: Memory, given: tool_arguments.Remember, call: Call) -> RememberResult:
    """Keep one fact, decision or preference for later conversations. Recall first: if it is known already, revise that
    memory instead. Write it so that it is understood without this conversation.
    """
    fields = msgspec.structs.asdict(given)
    supersedes = fields.pop("supersedes")
    similarity.nearness_min()  # a setting that is wrong is refused before anything is written
    fields["project"] = one_project(call.scope.project_of(given.project))
    fields["session"] = call.scope.session_of(given.session)
    for _ in range(_ATTEMPTS):
        head = memory.store.catch_up()
        before = existing_memory(memory, given.id)
        if before is not None:
            require_same_memory(memory, before, fields)
            return RememberResult(id=before.id, revision=before.state.revision_count, unchanged=True)
        with suppress(HeadMoved):  # another server may just have taken the id
            item = {**fields, "supersedes": supersedes}
            memory_id = memory.remember_many([item], expect=None if given.id is None else head)[0]
            return RememberResult(
                degraded=tuple(memory.missing_vector(memory_id)),
                id=memory_id,
                revision=memory.get(memory_id).state.revision_count,
                similar=tuple(short_form(SimilarResult, one) for one in memory.similar(memory_id)),
            )
    raise RecollectError(f"others write so much that {given.id!r} could not be kept; try again")


def one_project(name: str | None) -> str | None:
    if name == ALL_PROJECTS:
        raise InvalidInput(
            "project '*' means all projects, and a memory belongs to one; name it or leave it out"
        )
    return name


@TOOLS.add("Recall", text.recalled)
def recall(memory: Memory, given: tool_arguments.Recall, call: Call) -> RecallResult:
    """Find the memories that answer a question, best first. The answer has an id (such as r12) under which its ranking can
    be explained later. It may be empty. `degraded` says if something was off.
    """
    # While the model loads, rank by words only and say so. Only what the budget shows counts as accessed.
    session = call.scope.session_of(given.session)
    options = given.options() | {
        "formula": call.scope.formula(memory, given.formula), "session": session, "filters": filters_of(given, call.scope),
        "track": False, "record": given.record, "wait": False,
    }  # fmt: skip
    if given.k is None and not is_recall_id(given.query):
        options["k"] = tool_arguments.K_DEFAULT
    source = memory.at(given.at) if given.at is not None else memory
    answer = source.recall(given.query, **options)
    result = within_budget(answer, tokens_max=given.max_tokens, factors=given.factors)
    if not given.track:
        return result
    return count_accesses(
        result, lambda recall, ids: memory.access(ids, session, "returned", recall=recall, durable=False)
    )


def count_accesses(result: RecallResult, count: Callable[[str, tuple[str, ...]], object]) -> RecallResult:
    """Count the hits of a recorded recall as accessed; where that cannot be written the answer says so."""
    if result.recall is None or not result.hits:
        return result
    try:
        count(result.recall, tuple(hit.id for hit in result.hits))
    except (RecollectError, OSError) as error:
        note = f"the memories of this recall were not counted as accessed: {error}"
        return msgspec.structs.replace(result, degraded=(*result.degraded, note))
    return result


def filters_of(given: tool_arguments.Recall, scope: Scope) -> dict[str, object]:
    """The project of the server, unless the call names one or asks for all."""
    project = scope.project_of(given.project)
    return msgspec.structs.replace(given, project=None if project == ALL_PROJECTS else project).filters


def within_budget(
    answer: Answer,
    *,
    tokens_max: int,
    factors: bool = False,
    seen: Callable[[RecallResult], tuple[str, ...]] | None = None,
) -> RecallResult:
    """As much of an answer as the budget holds; `seen` are the forms in which a model may see a result."""
    hits = tuple(recalled_hit(hit, factors=factors) for hit in answer.hits)
    forms = seen or text_and_json

    def result(kept: tuple[RecalledHit, ...], ids: tuple[str, ...] = ()) -> RecallResult:
        return RecallResult(
            recall=answer.id, basis=answer.basis, formula=answer.formula, hits=kept, degraded=answer.degraded,
            left_out=len(hits) - len(kept), left_out_ids=ids, tokens=tokens_max,
        )  # fmt: skip

    def tokens(one: RecallResult) -> int:
        return max(map(tokens_of, forms(one)))

    kept = fit(
        hits, lambda some: tokens(result(some)), lambda hit: tokens_of(hit.content), tokens_max=tokens_max
    )
    shown = {hit.id for hit in kept}
    left = [hit.id for hit in hits if hit.id not in shown][:_LEFT_OUT_MAX]
    named = fit(left, lambda ids: tokens(result(kept, ids)), tokens_of, tokens_max=tokens_max)
    whole = result(kept, named)
    return msgspec.structs.replace(whole, tokens=tokens(whole))


def text_and_json(result: RecallResult) -> tuple[str, ...]:
    """A tool's answer as text, and as the structured content that some clients show instead."""
    return text.recalled(result), msgspec.json.encode(result).decode()


def recalled_hit(hit: Hit, *, factors: bool) -> RecalledHit:
    short = short_form(RecalledHit, hit, factors={})
    return msgspec.structs.replace(short, factors=compact(hit.factors) if factors else UNSET)


def compact(factors: dict[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.{_DIGITS}g}") for name, value in factors.items()}


@TOOLS.add("Get one memory", text.one_memory, reads=True)
def get(memory: Memory, given: tool_arguments.Get, _: Call) -> MemoryResult:
    """One memory in full with its state, now or as of a past moment."""
    return text.memory_result(memory.get(given.id, at=given.at))


@TOOLS.add(
    "Revise a memory", text.revised, lane="writes", replaces=True, needs_model=lambda given: given.content is not None
)  # fmt: skip
def revise(memory: Memory, given: tool_arguments.Revise, _: Call) -> ReviseResult:
    """Give a memory a new version when what it says has changed. The old version stays in the history and no longer
    answers.
    """
    named = msgspec.structs.asdict(given).items()
    changes = {name: value for name, value in named if value is not None and name not in {"id", "clear"}}
    both = sorted(changes.keys() & set(given.clear))
    if both:
        raise InvalidInput(f"revise was told to set and to clear {both[0]!r}; do one of them")
    one_project(given.project)
    content = changes.pop("content", UNSET)
    revision = memory.revise(given.id, content, **changes, **dict.fromkeys(given.clear))
    return ReviseResult(id=given.id, revision=revision, degraded=tuple(memory.missing_vector(given.id)))


@TOOLS.add("Forget a memory", text.forgotten, lane="writes", replaces=True, repeatable=True)
def forget(memory: Memory, given: tool_arguments.Forget, _: Call) -> ForgetResult:
    """A memory that is wrong or unwanted no longer answers. A person can restore it."""
    # Forgetting a forgotten memory is not an error; nothing is written.
    if memory.get(whole_id(memory.store, given.id)).state.visibility == "forgotten":
        return ForgetResult(id=given.id, seq=None)
    return ForgetResult(id=given.id, seq=memory.forget(given.id, given.reason))


@TOOLS.add("Status", text.status, reads=True)
def status(memory: Memory, _: tool_arguments.Status, call: Call) -> StatusResult:
    """The store behind this server: how much it holds, and whether anything is degraded."""
    now, scope = memory.status(), call.scope
    return short_form(
        StatusResult, now, embedder=now.embedder.name, model=now.embedder.state, last_dream=now.last_dream or None,
        profile=scope.profile, project=scope.project, session=scope.session,
    )  # fmt: skip


@TOOLS.add("Recent memories", text.recent, reads=True)
def recent(memory: Memory, given: tool_arguments.Recent, call: Call) -> RecentResult:
    """The memories made last, newest first: what was going on, without a question to ask."""
    project = call.scope.project_of(given.project)
    wanted = {
        "project": None if project == ALL_PROJECTS else project, "kinds": given.kinds or None, "since": given.since,
    }  # fmt: skip
    found = memory.memories({name: value for name, value in wanted.items() if value}, limit=given.limit)
    newest = [text.recent_memory(memo) for memo in sorted(found, key=lambda one: -one.state.created_at)]

    def result(kept: tuple[RecentMemory, ...]) -> RecentResult:
        return RecentResult(memories=kept, left_out=len(newest) - len(kept), tokens=given.max_tokens)

    def tokens(kept: tuple[RecentMemory, ...]) -> int:
        one = result(kept)
        return max(tokens_of(text.recent(one)), tokens_of(msgspec.json.encode(one).decode()))

    kept = fit(newest, tokens, lambda one: tokens_of(one.content), tokens_max=given.max_tokens)
    return msgspec.structs.replace(result(kept), tokens=tokens(kept))


@TOOLS.add("Say what was used", text.noted, lane="writes")
def used(memory: Memory, given: tool_arguments.Used, call: Call) -> WriteResult:
    """Say which recalled memories your answer rests on. Later rankings and reports tell what was used from what was only
    shown.
    """
    session = call.scope.session_of(given.session)
    return WriteResult(id=given.ids[0], seq=memory.access(given.ids, session, "used", recall=given.recall))


@TOOLS.add("Why did it rank there, or not", why_text.in_words, reads=True)
def why(memory: Memory, given: audit_arguments.Why, _: Call) -> WhyResult:
    """Why a memory ranked where it did in a recorded recall, or was not in it: replayed at that moment, not guessed."""
    return why_text.explained(memory.why(given.recall, given.id))
