"""Versions of many owners, and which one stood at a position.

A version is a record: owner, the seq from which it stands, and values. Beside the version before it (`prev`)
it keeps one far ancestor (`jump`, Myers' skew-binary pointers, 1983), so the version that stood at any seq
is found in O(log versions) steps, for many owners at once, and appending stays O(1).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from recollect.projections.columns import Column, Int32Array, IntArray, State, Table, state_array

_LINKS = (("seq", "q"), ("owner", "i"), ("prev", "i"), ("jump", "i"), ("depth", "i"))
_READ_LINKS = struct.Struct("<qiiii").unpack_from
_LINKS_WIDTH = struct.calcsize("<qiiii")


class Versions:
    """A history of records per owner; owners are 0, 1, 2, …; seqs never decrease."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self.table = Table([*_LINKS, *fields])
        self._read_values = struct.Struct("<" + "".join(code for _, code in fields)).unpack_from
        self._latest: Column[np.int32] = Column(np.int32)

    def __len__(self) -> int:
        return len(self.table)

    def column(self, name: str) -> npt.NDArray[Any]:
        return self.table.array[name]

    def latest(self, owner: int) -> int:
        """The owner's newest version, or -1."""
        latest = self._latest
        return int(latest.cells[owner]) if owner < latest.size else -1

    def values(self, node: int) -> tuple[Any, ...]:
        """The values of one version, without its links."""
        table = self.table
        return self._read_values(table.bytes, node * table.width + _LINKS_WIDTH)

    def seq(self, node: int) -> int:
        return self._links(node)[0]

    def prev(self, node: int) -> int:
        return self._links(node)[2]

    def append(self, owner: int, seq: int, *values: float) -> int:
        """A new version of `owner` from `seq` on; a second one at the same seq replaces the first."""
        latest, table = self._latest, self.table
        while owner > latest.size:
            latest.append(-1)
        prev = latest.cells[owner] if owner < latest.size else -1
        before, jump, depth = prev, -1, 0
        if prev >= 0:
            prev_seq, _, before, jump, depth = self._links(prev)
            if prev_seq == seq:
                table.replace(prev, seq, owner, before, jump, depth, *values)
                return int(prev)
            before, jump, depth = prev, self._jump_from(prev, jump, depth), depth + 1
        node = table.room()
        table.pack(table.bytes, node * table.width, seq, owner, before, jump, depth, *values)
        table.size = node + 1
        if owner < latest.size:
            latest.cells[owner] = node
        else:
            latest.append(node)
        return node

    def births(self, seqs: IntArray, columns: Mapping[str, npt.ArrayLike]) -> None:
        """First versions of as many new owners, numbered from the next one on."""
        first, node = self._latest.size, len(self.table)
        records = np.empty(len(seqs), dtype=self.table.dtype)
        records["seq"], records["owner"] = seqs, np.arange(first, first + len(seqs))
        records["prev"], records["jump"], records["depth"] = -1, -1, 0
        for name, values in columns.items():
            records[name] = values
        self.table.extend(records)
        self._latest.extend(np.arange(node, node + len(seqs), dtype=np.int32))

    def _links(self, node: int) -> tuple[int, int, int, int, int]:
        """seq, owner, prev, jump, depth; the values behind them are left unread."""
        links: tuple[int, int, int, int, int] = _READ_LINKS(self.table.bytes, node * self.table.width)
        return links

    def _jump_from(self, prev: int, jump: int, depth: int) -> int:
        """Where a successor of `prev` jumps to: over two equal strides at once, else one step."""
        if jump < 0:
            return prev
        _, _, _, far, jump_depth = self._links(jump)
        if far >= 0 and depth - jump_depth == jump_depth - self._links(far)[4]:
            return far
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

    def at_each(self, owners: IntArray | Int32Array, seqs: IntArray) -> Int32Array:
        """The version of owners[i] that stood at seqs[i]; -1 where there was none."""
        nodes = self.at(owners, int(seqs.max(initial=0)))
        records = self.table.array
        at, prevs, jumps = records["seq"], records["prev"], records["jump"]
        late = np.flatnonzero((nodes >= 0) & (at[nodes] > seqs)) if len(records) else np.empty(0, np.int64)
        while len(late):
            here, wanted = nodes[late], seqs[late]
            far = jumps[here]
            leap = (far >= 0) & (at[far] > wanted)
            nodes[late] = here = np.where(leap, far, prevs[here])
            late = late[(here >= 0) & (at[here] > wanted)]
        return nodes

    def read(self, nodes: Int32Array, name: str, default: float) -> npt.NDArray[Any]:
        """One value of each of these versions; `default` where the version is -1."""
        if not len(self.table):
            return np.full(len(nodes), default, dtype=self.table.dtype[name])
        values = self.table.array[name][nodes]
        values[nodes < 0] = default
        return values

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

    def adopt(self, table: npt.NDArray[Any], latest: Int32Array) -> None:
        """Take over records and the newest version of each owner."""
        self.table.load(table)
        self._latest.load(latest)

    def load(self, prefix: str, state: State) -> None:
        self.table.load(state_array(state, f"{prefix}.table"))
        self._latest.load(state_array(state, f"{prefix}.latest"))
