"""The lifecycle of one memory at one position in plain values, and the events that each value comes from."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from recollect.events.facts import MemoryId, Micros, Status
from recollect.projections.columns import Versions
from recollect.projections.lifecycle import traits
from recollect.projections.lifecycle.columns import LifecycleColumns, RecordedColumn
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
    found: dict[str, tuple[int, ...]] = {}
    for name in LifecycleState.__struct_fields__:
        column = vars(LifecycleColumns)["status" if name == "consolidation_status" else name]
        if isinstance(column, RecordedColumn):
            default = (
                None if column.history == "traits" else column.default
            )  # the first version gives every trait
            seqs = _changes(histories.of_memories[column.history], memory, seq, column.name, default)
            found[name] = seqs[-EVENTS_MAX if name.endswith("_count") else -1 :]
    newest = _records(histories.visibility, memory, seq)[-1:]
    return found | {
        "session_spread": _spread_from(histories, memory, seq)[-EVENTS_MAX:],
        "feedback": _records(histories.feedback, memory, seq)[-EVENTS_MAX:],
        "strength": _strength_from(histories, memory, seq),
        **dict.fromkeys(("visibility", "hidden_reason", "superseded_by"), newest),
    }


def _records(history: Versions, memory: int, seq: int) -> tuple[int, ...]:
    """The seqs of all records up to `seq`."""
    return tuple(at for at in map(history.seq, history.chain(memory)) if at <= seq)


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


def _spread_from(histories: Histories, memory: int, seq: int) -> tuple[int, ...]:
    """The seqs of the birth in a session, and of the first access in each other one."""
    born_in_session = bool(histories.usage.born_in[memory] >= 0)
    birth = (int(histories.born[memory]),) if born_in_session else ()
    accessed = _changes(histories.usage, memory, seq, "sessions", int(born_in_session))
    return tuple(at for at in (*birth, *accessed) if at <= seq)


def _strength_from(histories: Histories, memory: int, seq: int) -> tuple[int, ...]:
    set_at = _changes(histories.condition, memory, seq, "strength_seq", 0)[-1:]
    since = set_at[0] if set_at else int(histories.born[memory])
    return set_at + tuple(histories.downscales.counting(since, seq)[-EVENTS_MAX:])
