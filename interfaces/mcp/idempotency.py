"""Remembering an id that exists already.

`remember` only adds. So an id that exists is refused, also one that was forgotten. The exception is the same memory told
again, as a client does whose reply was lost: that succeeds and writes nothing. The id of an erased memory is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect import engine
from recollect.events.errors import InvalidInput, UnknownMemory

if TYPE_CHECKING:
    from recollect.engine.answers import Memo
    from recollect.interfaces.python.memory import Memory

_TRAITS = (
    "kind", "importance", "project", "session", "source", "valid_from", "valid_to", "expires_at",
)  # fmt: skip
_LATER_MICROS = 86_400_000_000


def existing_memory(memory: Memory, memory_id: str | None) -> Memo | None:
    """The memory of an id, visible or not; None if the id is free."""
    if memory_id is None:
        return None
    try:
        memo = engine.memories.memo(memory.store, memory.store.view(), memory_id)
    except UnknownMemory:
        return None
    return None if memo.erased_at is not None else memo


def require_same_memory(memory: Memory, memo: Memo, fields: Mapping[str, object]) -> None:
    """InvalidInput unless the memory answers and says what `fields` say."""
    if not memo.visible:
        raise InvalidInput(
            f"memory {memo.id!r} is {memo.hidden_because}, and nothing was written; a person can restore it, and "
            f"without an id this becomes a memory of its own"
        )
    if not says_the_same(memo, fields, now=memory.store.clock()):
        raise InvalidInput(
            f"memory {memo.id!r} is there already and says something else, so nothing was written; change it with "
            f"revise, or leave the id out to keep both"
        )


def says_the_same(memo: Memo, fields: Mapping[str, object], *, now: int) -> bool:
    """Whether remembering `fields` would change nothing. Times that depend on the clock are not compared."""
    from recollect.engine.memory_arguments import ingested  # noqa: PLC0415 (tools are listed before the engine is loaded)

    told, later = ingested(fields, now=now), ingested(fields, now=now + _LATER_MICROS)
    state = memo.state
    same_time = told.at != later.at or told.at in (state.created_at, state.updated_at)
    same_labels = set(told.tags) == set(state.tags) and set(told.entities) == set(state.entities)
    traits = (name for name in _TRAITS if getattr(told, name) == getattr(later, name))
    same_traits = all(getattr(told, name) == getattr(state, name) for name in traits)
    return told.content == memo.content and same_time and same_labels and same_traits
