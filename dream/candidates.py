"""Which memories a phase looks at: one row per living memory, asked with SQL.

DuckDB reads the lifecycle's columns where they stand, as numpy arrays; nothing is copied into a database and
nothing outlives the question. Values go in as parameters, never as text. The table is `memories`; a memory's
kind brings along the numbers that the settings give it. Ages are never negative.

    staleness = idle_days × decay_per_day(kind)        idle_days run from the last access, or else from the creation
    signal    = accesses_per_day × revision_count × weight(kind)

The two formulas are those of Reverie's ADR-006 (`staleness_score`, `signal_score`). 1 / decay_per_day is the number of
idle days after which a memory of that kind counts as stale (staleness 1), which Reverie's prune rules give (session 30,
bug 60, config 90, decision 180; reference and heuristic never, so their staleness is 0). A memory's score for pruning is
signal / staleness.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import duckdb
import numpy as np
import numpy.typing as npt

from recollect.dream.phase import PhaseInput
from recollect.dream.settings import WhenStale
from recollect.events.facts import Micros
from recollect.projections.columns import BoolArray, FloatArray, Int32Array, IntArray
from recollect.projections.lifecycle.lifecycle import LifecycleColumns
from recollect.projections.lifecycle.usage import NEVER_ACCESSED
from recollect.projections.view import View
from recollect.query.inputs import MICROS_PER_DAY

Array = npt.NDArray[Any]
Row = dict[str, Any]


def elapsed_days(since: IntArray, now: Micros) -> FloatArray:
    """Days from each time to `now`; 0 for a time that is still to come."""
    return np.maximum(now - since, 0) / float(MICROS_PER_DAY)


def living(view: View) -> IntArray:
    """The memories that are alive at the view, ascending."""
    return np.sort(view.documents.memory_of[view.documents.living(view.seq)].astype(np.int64))


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """An empty database; a cursor of it sees only what is registered with that cursor."""
    return duckdb.connect(":memory:", config={"threads": "1"})


class Candidates:
    """The living memories that a phase is given."""

    def __init__(self, given: PhaseInput) -> None:
        self._given = given
        self.memories = living(given.view)
        self.now = given.view.lifecycle.at(self.memories, given.view.seq)
        self.then = given.view.lifecycle.at(self.memories, given.since)
        self._arrays = self._table()

    def __len__(self) -> int:
        return len(self.memories)

    def ask(self, sql: str, **values: object) -> list[Row]:
        """The rows of a question about `memories`; `$name` in it is the value of that name."""
        with _database().cursor() as connection:
            connection.register("memories", self._arrays)
            columns = connection.execute(sql, values).fetchnumpy()
        names = list(columns)
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*(columns[n].tolist() for n in names), strict=True)
        ]

    def add(self, name: str, column: Array) -> None:
        """One more column for the questions that follow."""
        assert len(column) == len(self)
        self._arrays[name] = np.ascontiguousarray(column)

    def of_kinds(self, wanted: tuple[str, ...]) -> BoolArray:
        """Which memories are of one of these kinds, ignoring case."""
        numbers, places = np.unique(self.now.kind, return_inverse=True)
        lowered = {kind.lower() for kind in wanted}
        named = [(name or "").lower() in lowered for name in self.now.texts(numbers)]
        return np.array(named, dtype=np.bool_)[places]

    # --- the columns -----------------------------------------------------------------------------

    def _table(self) -> dict[str, Array]:
        now, then = self.now, self.then
        columns: dict[str, Array] = {
            "memory": self.memories,
            "status": now.status,
            "depth": now.depth_score,
            "layer": now.layer,
            "key": now.key,
            "project": now.project,
            "session": now.session,
            "tagged": now.importance_tag >= 0,
            "importance": now.importance,
            "strength": now.strength,
            "stability": now.stability,
            "updated_at": now.updated_at,
            "accesses": now.access_count,
            "accesses_since": now.access_count - then.access_count,
            "revisions": now.revision_count,
            "spread": now.session_spread,
            **self._times(),
            **self._reviews(),
        }
        return {
            name: np.ascontiguousarray(column) for name, column in (columns | self._kinds(columns)).items()
        }

    def _times(self) -> dict[str, FloatArray]:
        age_days = elapsed_days(self.now.created_at, self._given.now)
        return {
            "age_days": age_days,
            "age_hours": age_days * 24.0,
            "idle_days": elapsed_days(self.now.touched_at, self._given.now),
        }

    def _reviews(self) -> dict[str, Array]:
        """What happened since the last dream: successes, failures, and how long the memory had rested before."""
        now, then = self.now, self.then
        before = np.where(then.last_access_at == NEVER_ACCESSED, now.created_at, then.last_access_at)
        read_again = now.access_count > then.access_count
        at = np.where(read_again, now.last_access_at, self._given.now)
        return {
            "used_since": now.used_count - then.used_count + now.helpful_count - then.helpful_count,
            "failed_since": _failures(now) - _failures(then),
            "failed": _failures(now),
            "rested_days": np.maximum(at - before, 0) / float(MICROS_PER_DAY),
        }

    def _kinds(self, columns: dict[str, Array]) -> dict[str, Array]:
        """The numbers of each memory's kind, and what they make of it."""
        settings, names = self._given.settings, self.now.strings.values
        numbers, places = np.unique(self.now.kind, return_inverse=True)
        kinds = [settings.kind(names[number] if number >= 0 else "other") for number in numbers.tolist()]
        decay, weight, importance, stale = (
            np.array(values)[places] if kinds else np.empty(0)
            for values in (
                [kind.decay_per_day for kind in kinds],
                [kind.weight for kind in kinds],
                [kind.importance for kind in kinds],
                [_STALE.index(kind.stale) for kind in kinds],
            )
        )
        age_days = np.maximum(columns["age_days"], 1.0)
        return {
            "kind_importance": importance,
            "when_stale": stale.astype(np.int32),
            "staleness": columns["idle_days"] * decay,
            "signal": columns["accesses"] / age_days * columns["revisions"] * weight,
        }


_STALE: tuple[WhenStale, ...] = get_args(WhenStale)


def when_stale(number: int) -> WhenStale:
    """What happens to a stale memory, by its number in the column `when_stale`."""
    return _STALE[number]


def _failures(columns: LifecycleColumns) -> Int32Array:
    return columns.unhelpful_count + columns.outdated_count


def holding(columns: LifecycleColumns, tags: tuple[str, ...]) -> BoolArray:
    """Which memories carry one of these tags."""
    return columns.sets.holding(tags)[columns.tags]
