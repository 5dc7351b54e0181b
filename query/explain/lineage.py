"""Lineage: the events behind each input that the stages of a formula look at.

Inputs are functions of the lifecycle's columns. Which columns an input reads, and as of which seq, is seen by
letting it read through a view that notes what is asked of it; the lifecycle knows the events of each column.
"""

from __future__ import annotations

from typing import cast

from recollect.projections.columns import Int32Array, IntArray
from recollect.projections.lifecycle.lifecycle import Lifecycle, LifecycleColumns
from recollect.projections.view import View
from recollect.query.explain.case import Case
from recollect.query.formula_check import read_by
from recollect.query.inputs import INPUTS, read
from recollect.query.sheet import RankContext
from recollect.query.stages.filtering import Exclude
from recollect.query.stages.measuring import LookUp, Overlap

_Columns = list[tuple[str, int]]

# Columns that the lifecycle derives, and the values of its record that they are derived from.
_DERIVED = {
    "status": ("consolidation_status",),
    "touched_at": ("last_access_at",),
    "returned_count": ("access_count",),
}


_TRAITS: dict[type, str] = {LookUp: "kind", Exclude: "kind", Overlap: "tags"}


def provenance(case: Case) -> dict[str, tuple[int, ...]]:
    """For the text and each input that a stage looked at, the seqs of the events that it comes from."""
    found: dict[str, tuple[int, ...]] = {}
    if case.view.documents.newest_row(case.memory, case.view.seq) < 0:
        return found
    if case.row >= 0:
        found["content"] = (case.view.documents.source(case.row),)
    else:
        found["visibility"] = case.view.lifecycle.provenance(case.memory, case.view.seq)["visibility"]
    if case.place >= 0:
        found.update((name, _seqs(case, name)) for name in _inputs(case))
        events = case.view.lifecycle.provenance(case.memory, case.view.seq)
        found.update((name, events[name]) for name in _traits(case))
    return found


def _traits(case: Case) -> list[str]:
    """What stages read of the memory that is no number."""
    applied = (type(case.formula.stages[number]) for number in case.trace.moments)
    return list(dict.fromkeys(_TRAITS[stage] for stage in applied if stage in _TRAITS))


def _inputs(case: Case) -> list[str]:
    names = (name for number in case.trace.moments for name in read_by(case.formula.stages[number]))
    return [name for name in dict.fromkeys(names) if name in INPUTS]


def _seqs(case: Case, name: str) -> tuple[int, ...]:
    """The events behind one input; what is read as of an earlier seq comes from the event there as well."""
    seen: _Columns = []
    read(name, case.sheet, RankContext(case.question, _WatchedView(case.view, seen), case.formula.dials))
    seqs: set[int] = set()
    for column, seq in seen:
        events = case.view.lifecycle.provenance(case.memory, seq)
        behind = {key: events[key] for key in _DERIVED.get(column, (column,)) if key in events}
        if column == "touched_at" and not behind["last_access_at"]:
            behind = {"created_at": events["created_at"]}
        seqs.update(*behind.values(), () if seq == case.view.seq else (seq,))
    return tuple(sorted(seqs))


class _WatchedView(View):
    """A view whose lifecycle notes which columns are read, and as of which seq."""

    __slots__ = ()

    def __init__(self, view: View, seen: _Columns) -> None:
        super().__init__(view.projections, view.seq, view.time)
        self.lifecycle = cast("Lifecycle", _WatchedLifecycle(view.lifecycle, seen))


class _WatchedLifecycle:
    def __init__(self, lifecycle: Lifecycle, seen: _Columns) -> None:
        self._lifecycle = lifecycle
        self._seen = seen

    def at(self, memories: IntArray | Int32Array, seq: int) -> _WatchedColumns:
        return _WatchedColumns(self._lifecycle.at(memories, seq), self._seen)

    def __getattr__(self, name: str) -> object:
        return getattr(self._lifecycle, name)


class _WatchedColumns:
    def __init__(self, columns: LifecycleColumns, seen: _Columns) -> None:
        self._columns = columns
        self._seen = seen

    def __len__(self) -> int:
        return len(self._columns)

    def __getattr__(self, name: str) -> object:
        self._seen.append((name, self._columns.seq))
        return getattr(self._columns, name)
