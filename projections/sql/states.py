"""States of memories and edges between them as rows of the SQL face's tables, straight from the projections."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import NEVER, FloatArray, IntArray
from recollect.projections.lifecycle.columns import LifecycleColumns
from recollect.projections.lifecycle.condition import STATUSES, VISIBILITIES
from recollect.projections.lifecycle.state import MISSING
from recollect.projections.sql.rows import Columns, json, objects
from recollect.projections.sql.schema import STATE_COLUMNS
from recollect.projections.view import Projections

_STRENGTHS_KEPT = 8


class Strengths:
    """The function `strength_of` of the database: strengths at a seq, downscales counted."""

    def __init__(self, projections: Projections) -> None:
        self._projections = projections
        self._kept: dict[int, FloatArray] = {}

    def of(self, memory: int, seq: int) -> float:
        """Called by the database while it reads; a seq past the last event means the last."""
        seq = min(seq, self._projections.position)
        strengths = self._kept.get(seq)
        if strengths is None:
            if len(self._kept) >= _STRENGTHS_KEPT:
                self._kept.clear()
            everyone = np.arange(self._projections.documents.memories, dtype=np.int64)
            strengths = self._kept[seq] = self._projections.lifecycle.at(everyone, seq).strength
        return float(strengths[memory])

    def forget(self) -> None:
        self._kept.clear()


def state_rows(projections: Projections, memories: IntArray, seqs: IntArray) -> Columns:
    """The state of memories[i] from seqs[i] on; sorted by memory, then seq, and each state ends the one before."""
    documents, states = projections.documents, projections.lifecycle.each(memories, seqs)
    ends = np.full(len(seqs), -1, dtype=np.int64)
    same = memories[1:] == memories[:-1]
    ends[:-1][same] = seqs[1:][same]
    columns: Columns = {
        "memory": memories,
        "id": objects(documents.ids.values[memory] for memory in memories.tolist()),
        "from_seq": seqs,
        "to_seq": np.ma.masked_equal(ends, -1),
        "text_seq": documents.sources_at(memories, seqs),
        "strength": states.strength,
    }
    return columns | {name: _column(states, name, kind) for name, kind in STATE_COLUMNS.items()}


def _column(states: LifecycleColumns, name: str, kind: str) -> npt.NDArray[Any]:
    if name == "consolidation_status":
        return objects(STATUSES[code] for code in states.status.tolist())
    column = getattr(states, name)
    if name == "visibility":
        return objects(VISIBILITIES[code] for code in column.tolist())
    if kind == "VARCHAR[]":
        texts = [json(members) for members in states.sets.values]
        return objects(texts[number] for number in column.tolist())
    if kind == "VARCHAR":
        return objects(states.texts(column))
    return np.ma.masked_equal(column, MISSING[name]) if name in MISSING else np.asarray(column)


def edge_rows(projections: Projections) -> Columns:
    """Every edge that ever stood."""
    table, ids = projections.graph.edges, projections.documents.ids.values
    edges, kinds = table.records, table.kinds.values
    return {
        "a": objects(ids[memory] for memory in edges["a"].tolist()),
        "b": objects(ids[memory] for memory in edges["b"].tolist()),
        "kind": objects(kinds[kind] for kind in edges["kind"].tolist()),
        "weight": edges["weight"].copy(),
        "from_seq": edges["added"].copy(),
        "to_seq": np.ma.masked_equal(table.removed, NEVER),
    }
