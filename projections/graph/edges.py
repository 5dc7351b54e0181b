"""edges: typed weighted directed edges between memories, each with the seqs it was added and removed at.

An edge exists at S iff added <= S < removed. The same (a, b, kind) again ends the old edge and adds one with
the new weight, so the past keeps the old weight. Which edges leave or enter a memory is answered from lists
that are brought up to date when they are asked, so neither folding nor loading pays for them.
"""

from __future__ import annotations

from array import array
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import (
    NEVER,
    BoolArray,
    Column,
    IntArray,
    Interner,
    Saved,
    State,
    Table,
)

Direction = Literal["both", "out", "in"]

_EdgeKey = tuple[int, int]


class EdgeTable:
    def __init__(self) -> None:
        self.kinds = Interner()
        self._edges = Table([("a", "i"), ("b", "i"), ("kind", "i"), ("weight", "d"), ("added", "q")])
        self._removed: Column[np.int64] = Column(np.int64)
        self._living: dict[_EdgeKey, dict[int, int]] | None = {}
        self._leaving: dict[int, array[int]] = {}
        self._entering: dict[int, array[int]] = {}
        self._listed = 0

    def __len__(self) -> int:
        return len(self._edges)

    # --- folding ---------------------------------------------------------------------------------

    def link(self, a: int, b: int, kind: str, weight: float, seq: int) -> None:
        number = self.kinds.number(kind)
        edges = self._alive().setdefault((a, b), {})
        if number in edges:
            self._removed[edges[number]] = seq
        edges[number] = self._edges.append(a, b, number, weight, seq)
        self._removed.append(NEVER)

    def unlink(self, a: int, b: int, kind: str | None, seq: int) -> None:
        edges = self._alive().get((a, b), {})
        numbers = list(edges) if kind is None else [self.kinds.find(kind)]
        for number in numbers:
            if number in edges:
                self._removed[edges.pop(number)] = seq

    def _alive(self) -> dict[_EdgeKey, dict[int, int]]:
        """The edges that exist now, by their ends and kind."""
        if self._living is None:
            self._living = {}
            living = np.flatnonzero(self._removed.array == NEVER)
            for edge, (a, b, kind, *_) in zip(living.tolist(), self.records[living].tolist(), strict=True):
                self._living.setdefault((a, b), {})[kind] = edge
        return self._living

    # --- reading ---------------------------------------------------------------------------------

    @property
    def records(self) -> npt.NDArray[Any]:
        """Every edge ever: its ends `a` and `b`, the number of its `kind`, its `weight`, and the seq it was `added` at."""
        return self._edges.array

    @property
    def removed(self) -> IntArray:
        return self._removed.array

    def of(self, memories: list[int], direction: Direction) -> tuple[IntArray, IntArray]:
        """All edges ever at these memories: edge numbers, and for each the memory it was found at.

        A loop from a memory to itself is found once.
        """
        self._catch_up()
        edges, found_at = array("i"), array("i")
        for memory in memories:
            leaving = self._leaving.get(memory) if direction != "in" else None
            entering = self._entering.get(memory) if direction != "out" else None
            for listed in (leaving, entering):
                if listed is not None:
                    edges.extend(listed)
                    found_at.extend((memory,) * len(listed))
        numbers, owners = np.array(edges, dtype=np.int64), np.array(found_at, dtype=np.int64)
        if direction == "both" and len(numbers):
            once = np.ones(len(numbers), dtype=np.bool_)
            loops = np.flatnonzero(self.records["a"][numbers] == self.records["b"][numbers])
            _, first = np.unique(numbers[loops], return_index=True)
            once[np.setdiff1d(loops, loops[first])] = False
            numbers, owners = numbers[once], owners[once]
        return numbers, owners

    def standing(
        self, edges: IntArray, seq: int, *, kinds: tuple[str, ...] | None, min_weight: float
    ) -> BoolArray:
        """Which of these edges exist at `seq`, are of these kinds (None: any) and weigh enough."""
        if not len(edges):
            return np.zeros(0, dtype=np.bool_)
        found = self.records[edges]
        mask: BoolArray = (found["added"] <= seq) & (self.removed[edges] > seq)
        mask &= found["weight"] >= min_weight
        if kinds is not None:
            mask &= np.isin(found["kind"], [self.kinds.find(kind) for kind in kinds])
        return mask

    def _catch_up(self) -> None:
        for edge, (a, b, *_) in enumerate(self.records[self._listed :].tolist(), self._listed):
            self._leaving.setdefault(a, array("i")).append(edge)
            self._entering.setdefault(b, array("i")).append(edge)
        self._listed = len(self._edges)

    # --- checkpoints -----------------------------------------------------------------------------

    def dump(self) -> State:
        return {
            "edges": self._edges.array,
            "removed": self._removed.array,
            "edge_kinds": self.kinds.dump(),
        }

    def load(self, state: Saved) -> None:
        self._edges.load(state["edges"])
        self._removed.load(state["removed"])
        self.kinds = Interner.load(state["edge_kinds"])
        self._living = None
        self._leaving, self._entering, self._listed = {}, {}, 0
