"""The lifecycle of one memory at one position in plain values, and the events that each value comes from."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from recollect.events.facts import MemoryId, Micros, Status
from recollect.projections.columns import Versions
from recollect.projections.lifecycle import traits
from recollect.projections.lifecycle.columns import LifecycleColumns
from recollect.projections.lifecycle.condition import STATUSES, VISIBILITIES, VisibilityName
from recollect.projections.lifecycle.histories import Histories
from recollect.projections.lifecycle.usage import NEVER_ACCESSED, NO_RECALL

EVENTS_MAX = 50


class LifecycleState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the log says about one memory besides its text and vector."""

    importance: float
    priority: int | None
    kind: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    project: str | None
    session: str | None
    source: str | None
    importance_tag: str | None
    key: str | None
    trust: float
    embedder: str | None
    created_at: Micros
    updated_at: Micros
    valid_from: Micros | None
    valid_to: Micros | None
    expires_at: Micros | None
    revision_count: int
    access_count: int
    used_count: int
    injected_count: int
    session_spread: int
    last_access_at: Micros | None
    last_recall: int | None
    feedback: int
    helpful_count: int
    unhelpful_count: int
    outdated_count: int
    strength: float
    stability: float
    depth_score: int
    consolidation_status: Status
    layer: str
    visibility: VisibilityName
    hidden_reason: str
    superseded_by: MemoryId | None

    @property
    def hidden(self) -> str | None:
        """Why the memory is hidden, in words; None if it is visible."""
        if self.visibility == "visible":
            return None
        by = "" if self.superseded_by is None else f" by {self.superseded_by!r}"
        return f"{self.visibility}{by}" + (f": {self.hidden_reason}" if self.hidden_reason else "")


MISSING = traits.MISSING | {"last_access_at": NEVER_ACCESSED, "last_recall": NO_RECALL}
_STRINGS = traits.STRINGS | {"layer", "hidden_reason", "superseded_by"}


def state(columns: LifecycleColumns) -> LifecycleState:
    """The plain values of columns of one memory."""
    assert len(columns) == 1
    values = {name: _plain(columns, name) for name in LifecycleState.__struct_fields__}
    values["layer"] = values["layer"] or ""
    values["hidden_reason"] = values["hidden_reason"] or ""
    return LifecycleState(**values)


def _plain(columns: LifecycleColumns, name: str) -> Any:
    if name == "consolidation_status":
        return STATUSES[columns.status[0]]
    column = getattr(columns, name)
    if name == "visibility":
        return VISIBILITIES[column[0]]
    if name in _STRINGS:
        return columns.texts(column)[0]
    if name in ("tags", "entities"):
        return columns.members(column)[0]
    value = column.item(0)
    return None if MISSING.get(name) == value else value


def provenance(histories: Histories, memory: int, seq: int) -> dict[str, tuple[int, ...]]:
    """For each value the seqs of the events that it comes from, ascending; none for a default.

    A plain value comes from the event that last changed it. A counter comes from every event that it counts, of which
    the newest 50 are given (the counter itself is their total); a strength from the event that set it and the
    downscales that count since.
    """
    return {
        **_traits_from(histories, memory, seq),
        **_usage_from(histories, memory, seq),
        **_condition_from(histories, memory, seq),
        **_visibility_from(histories, memory, seq),
    }


def _changes(
    history: Versions, memory: int, seq: int, name: str, default: float | None = None
) -> tuple[int, ...]:
    """The seqs at which a value became another one, up to `seq`."""
    nodes = np.array(history.chain(memory), dtype=np.int64)
    records = history.table.array[nodes]
    records = records[records["seq"] <= seq]
    values = records[name]
    changed = np.ones(len(values), dtype=np.bool_)
    changed[1:] = values[1:] != values[:-1]
    if default is not None and len(values):
        changed[0] = values[0] != default
    return tuple(records["seq"][changed].tolist())


def _traits_from(histories: Histories, memory: int, seq: int) -> dict[str, tuple[int, ...]]:
    history = histories.traits
    found = {name: _changes(history, memory, seq, name)[-1:] for name in traits.NAMES}
    found["revision_count"] = _changes(history, memory, seq, "revision")[-EVENTS_MAX:]
    del found["revision"]
    return found


def _usage_from(histories: Histories, memory: int, seq: int) -> dict[str, tuple[int, ...]]:
    usage, feedback = histories.usage, histories.feedback
    born_in_session = bool(histories.usage.born_in[memory] >= 0)
    birth = histories.born.array[memory : memory + 1] if born_in_session else ()
    spread = (*map(int, birth), *_changes(usage, memory, seq, "sessions", int(born_in_session)))
    counters = {
        "access_count": _changes(usage, memory, seq, "accesses", 0),
        "used_count": _changes(usage, memory, seq, "used", 0),
        "injected_count": _changes(usage, memory, seq, "injected", 0),
        "session_spread": tuple(s for s in spread if s <= seq),
        "helpful_count": _changes(feedback, memory, seq, "helpful", 0),
        "unhelpful_count": _changes(feedback, memory, seq, "unhelpful", 0),
        "outdated_count": _changes(feedback, memory, seq, "outdated", 0),
        "feedback": tuple(s for s in map(feedback.seq, feedback.chain(memory)) if s <= seq),
    }
    return {
        **{name: seqs[-EVENTS_MAX:] for name, seqs in counters.items()},
        "last_access_at": _changes(usage, memory, seq, "last_access_at", NEVER_ACCESSED)[-1:],
        "last_recall": _changes(usage, memory, seq, "last_recall", NO_RECALL)[-1:],
    }


def _condition_from(histories: Histories, memory: int, seq: int) -> dict[str, tuple[int, ...]]:
    history = histories.condition
    set_at = _changes(history, memory, seq, "strength_seq", 0)[-1:]
    since = set_at[0] if set_at else int(histories.born[memory])
    return {
        "strength": set_at + tuple(histories.downscales.counting(since, seq)[-EVENTS_MAX:]),
        "stability": _changes(history, memory, seq, "stability", 1.0)[-1:],
        "depth_score": _changes(history, memory, seq, "depth_score", 2)[-1:],
        "consolidation_status": _changes(history, memory, seq, "status", 0)[-1:],
        "layer": _changes(history, memory, seq, "layer", -1)[-1:],
    }


def _visibility_from(histories: Histories, memory: int, seq: int) -> dict[str, tuple[int, ...]]:
    history = histories.visibility
    newest = tuple(s for s in map(history.seq, history.chain(memory)) if s <= seq)[-1:]
    return {"visibility": newest, "hidden_reason": newest, "superseded_by": newest}
