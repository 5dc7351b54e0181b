"""Prompts that a person picks in a client: "what do you remember about …" and "why did you …".

Each is one recall whose memories are put before the model with instructions. What is put there is recorded: the
recall, and its memories as injected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from recollect.engine.safe_text import block, closed
from recollect.events.errors import InvalidInput
from recollect.interfaces.mcp import text
from recollect.interfaces.mcp.tool import Call
from recollect.interfaces.mcp.tool_arguments import TOKENS_DEFAULT
from recollect.interfaces.mcp.tools import count_accesses, within_budget

if TYPE_CHECKING:
    from recollect.interfaces.python.memory import Memory

_K = 20


class PromptKind(NamedTuple):
    """A prompt with one argument."""

    name: str
    title: str
    description: str
    argument: str
    argument_description: str
    write: Callable[[str, str], str]


def _about(topic: str, memories: str) -> str:
    return (
        f"What do you remember about {topic}?\n\nThese memories were found, best first:\n\n{memories}\n\n"
        f"Answer from them alone. Name the id of each memory that you use, say where two disagree, and say so "
        f"if they do not answer the question."
    )


def _why(action: str, memories: str) -> str:
    return (
        f"Why did you {action}?\n\nThese memories bear on it, best first:\n\n{memories}\n\n"
        f"Explain which of them led to it, with their ids, and which spoke against it. If none of them explains "
        f"it, say so instead of inventing a reason. How this list was ranked can be explained by its recall id."
    )


PROMPTS: dict[str, PromptKind] = {
    kind.name: kind
    for kind in (
        PromptKind(
            "what_do_you_remember_about",
            "What do you remember about …",
            "The memories about a topic, with instructions to answer from them alone.",
            "topic",
            "A person, project, decision or anything else.",
            _about,
        ),
        PromptKind(
            "why_did_you",
            "Why did you …",
            "The memories that bear on something the agent did, to explain it from.",
            "what",
            "What was done, as in: choose Postgres for sessions.",
            _why,
        ),
    )
}


def subject(name: str, given: Mapping[str, str] | None) -> tuple[PromptKind, str]:
    """The prompt and its argument; InvalidInput if there is no such prompt or nothing to ask about."""
    kind = PROMPTS.get(name)
    if kind is None:
        raise InvalidInput(f"there is no prompt {name!r}; there are {', '.join(PROMPTS)}")
    unknown = sorted(set(given or {}) - {kind.argument})
    if unknown:
        raise InvalidInput(f"the prompt {name!r} has no argument {unknown[0]!r}; it takes {kind.argument!r}")
    value = (given or {}).get(kind.argument, "").strip()
    if not value:
        raise InvalidInput(f"the prompt {name!r} needs {kind.argument!r}: {kind.argument_description}")
    return kind, value


def compose(memory: Memory, kind: PromptKind, value: str, call: Call) -> str:
    """The prompt's text. The recall is recorded, and what fits of it counts as injected, not as returned."""
    project, session = call.scope.project, call.scope.session
    filters = None if project is None else {"project": project}
    answer = memory.recall(value, k=_K, session=session, filters=filters, track=False, wait=False)
    result = count_accesses(
        within_budget(answer, tokens_max=TOKENS_DEFAULT),
        lambda recall, ids: memory.access(ids, session, how="injected", recall=recall),
    )
    return kind.write(closed(block(value)), text.recalled(result))
