"""Versions of many owners, and which one stood at a position.

A version is a record: owner, the seq from which it stands, and values. Beside the version before it (`prev`)
it keeps one far ancestor (`jump`, Myers' skew-binary pointers, 1983), so the version that stood at any seq
is found in O(log versions) steps, for many owners at once, and appending stays O(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import Column, Int32Array, IntArray, State, Table, state_array

_LINKS = (("seq", "q"), ("owner", "i"), ("prev", "i"), ("jump", "i"), ("depth", "i"))


class Versions:
    """A history of records per owner; owners are 0, 1, 2, …; seqs never decrease."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self.table = Table([*_LINKS, *fields])
        self._latest: Column[np.int32] = Column(np.int32)

    def __len__(self) -> int:
        return len(self.table)

    def column(self, name: str) -> npt.NDArray[Any]:
        return self.table.array[name]

    def latest(self, owner: int) -> int:
        """The owner's newest version, or -1."""
        return int(self._latest[owner]) if owner < len(self._latest) else -1

    def values(self, node: int) -> tuple[Any, ...]:
        """The values of one version, without its links."""
        return self.table.row(node)[len(_LINKS) :]

    def seq(self, node: int) -> int:
        return int(self.table.row(node)[0])

    def prev(self, node: int) -> int:
        return int(self.table.row(node)[2])

    def append(self, owner: int, seq: int, *values: float) -> int:
        """A new version of `owner` from `seq` on; a second one at the same seq replaces the first."""
        while owner >= len(self._latest):
            self._latest.append(-1)
        prev = int(self._latest[owner])
        if prev < 0:
            node = self.table.append(seq, owner, -1, -1, 0, *values)
        else:
            prev_seq, _, before, jump, depth, *_ = self.table.row(prev)
            if prev_seq == seq:
                self.table.replace(prev, seq, owner, before, jump, depth, *values)
                return prev
            node = self.table.append(seq, owner, prev, self._jump_from(prev, jump, depth), depth + 1, *values)
        self._latest[owner] = node
        return node

    def _jump_from(self, prev: int, jump: int, depth: int) -> int:
        """Where a successor of `prev` jumps to: over two equal strides at once, else one step."""
        if jump < 0:
            return prev
        *_, far, jump_depth = self.table.row(jump)[: len(_LINKS)]
        if far >= 0 and depth - jump_depth == jump_depth - int(self.table.row(far)[4]):
            return int(far)
        return prev

    def at(self, owners: IntArray | Int32Array, seq: int) -> Int32Array:
        """The version of each owner that stood at `seq`; -1 where there was none."""
        known = owners < len(self._latest)
        nodes: Int32Array = np.full(len(owners), -1, dtype=np.int32)
        nodes[known] = self._latest.array[owners[known]]
        records = self.table.array
        seqs, prevs, jumps = records["seq"], records["prev"], records["jump"]
        late = np.flatnonzero((nodes >= 0) & (seqs[nodes] > seq)) if len(records) else np.empty(0, np.int64)
        while len(late):
            here = nodes[late]
            far = jumps[here]
            leap = (far >= 0) & (seqs[far] > seq)
            nodes[late] = here = np.where(leap, far, prevs[here])
            late = late[(here >= 0) & (seqs[here] > seq)]
        return nodes

    def chain(self, owner: int) -> list[int]:
        """All versions of `owner`, oldest first."""
        nodes = []
        node = self.latest(owner)
        while node >= 0:
            nodes.append(node)
            node = self.prev(node)
        return nodes[::-1]

    def dump(self, prefix: str) -> State:
        return {f"{prefix}.table": self.table.array, f"{prefix}.latest": self._latest.array}

    def load(self, prefix: str, state: State) -> None:
        self.table.load(state_array(state, f"{prefix}.table"))
        self._latest.load(state_array(state, f"{prefix}.latest"))
