"""Growing arrays: appended to one value at a time, read as numpy without a copy.

`Column` is one numpy array with room to grow; `Table` is the same for records. Both double their room when
it runs out, so a view handed out earlier stays valid for the part it covers. `Interner` numbers strings.
Their `dump`/`load` pairs are what checkpoints are made of.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
State = dict[str, npt.NDArray[Any] | bytes]  # what a projection dumps, by name
Saved = Mapping[str, Any]  # the same, as it is loaded

Scalar = TypeVar("Scalar", bound=np.generic)

NEVER = 2**63 - 1
_ROOM_MIN = 1024


class _Growing(Generic[Scalar]):
    """An array with room to grow, from which both kinds of columns are made."""

    __slots__ = ("_buffer", "size")

    def _adopt(self, buffer: npt.NDArray[Scalar], size: int) -> None:
        self._buffer = buffer
        self.size = size

    def __len__(self) -> int:
        return self.size

    @property
    def array(self) -> npt.NDArray[Scalar]:
        """The values so far, as a view."""
        return self._buffer[: self.size]

    def extend(self, values: npt.NDArray[Any] | Sequence[float]) -> None:
        end = self.size + len(values)
        if end > len(self._buffer):
            self._grow(end)
        self._buffer[self.size : end] = values
        self.size = end

    def _grow(self, needed: int) -> None:
        room = np.empty(max(needed, 2 * len(self._buffer), _ROOM_MIN), dtype=self._buffer.dtype)
        room[: self.size] = self._buffer[: self.size]
        self._adopt(room, self.size)


class Column(_Growing[Scalar]):
    """One growing array of numbers.

    The hottest loops read `cells` and `size` themselves; `cells` is another object after every growth.
    """

    __slots__ = ("cells",)

    def __init__(self, dtype: type[Scalar]) -> None:
        self._adopt(np.empty(_ROOM_MIN, dtype=dtype), 0)

    def _adopt(self, buffer: npt.NDArray[Scalar], size: int) -> None:
        super()._adopt(buffer, size)
        self.cells = cast("Any", memoryview(cast("Any", buffer)))

    def __getitem__(self, index: int) -> Any:
        return self.cells[index]

    def __setitem__(self, index: int, value: float) -> None:
        self.cells[index] = value

    def append(self, value: float) -> None:
        if self.size == len(self._buffer):
            self._grow(self.size + 1)
        self.cells[self.size] = value
        self.size += 1

    def load(self, values: npt.NDArray[Any]) -> None:
        """Take over `values` (writable) as the content."""
        self._adopt(np.ascontiguousarray(values, dtype=self._buffer.dtype), len(values))


class Table(_Growing[Any]):
    """Growing records of numbers; `fields` are (name, struct code) pairs, such as ("seq", "q")."""

    __slots__ = ("_unpack", "bytes", "dtype", "pack", "width")

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        layout = struct.Struct("<" + "".join(code for _, code in fields))
        self.pack = layout.pack_into
        self._unpack = layout.unpack_from
        self.width = layout.size
        self.dtype = np.dtype([(name, "<" + _numpy_code(code)) for name, code in fields])
        assert self.dtype.itemsize == self.width
        self._adopt(np.empty(_ROOM_MIN, dtype=self.dtype), 0)

    def _adopt(self, buffer: npt.NDArray[Any], size: int) -> None:
        super()._adopt(buffer, size)
        self.bytes = memoryview(cast("Any", buffer.view(np.uint8)))

    def row(self, index: int) -> tuple[Any, ...]:
        return self._unpack(self.bytes, index * self.width)

    def append(self, *values: float) -> int:
        index = self.room()
        self.pack(self.bytes, index * self.width, *values)
        self.size = index + 1
        return index

    def room(self) -> int:
        """Where the next record goes; a caller that packs it there itself increases `size` afterwards."""
        if self.size == len(self._buffer):
            self._grow(self.size + 1)
        return self.size

    def replace(self, index: int, *values: float) -> None:
        self.pack(self.bytes, index * self.width, *values)

    def load(self, records: npt.NDArray[Any]) -> None:
        """Take over `records` (writable, of this table's dtype) as the content."""
        self._adopt(np.ascontiguousarray(records.view(self.dtype)), len(records))


def _numpy_code(code: str) -> str:
    return {"q": "i8", "i": "i4", "h": "i2", "b": "i1", "d": "f8", "f": "f4"}[code]


class Interner:
    """Strings numbered in order of first appearance."""

    __slots__ = ("_numbers", "values")

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values: list[str] = list(values)
        self._numbers: dict[str, int] = {value: n for n, value in enumerate(self.values)}

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: str) -> int:
        """The number of `value`, given now if it is new."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number

    def extend(self, values: list[str]) -> None:
        """Number values that are all new and all different."""
        self._numbers.update(
            zip(values, range(len(self.values), len(self.values) + len(values)), strict=True)
        )
        self.values += values

    def __contains__(self, value: str) -> bool:
        return value in self._numbers

    def find(self, value: str) -> int:
        """The number of `value`, or -1."""
        return self._numbers.get(value, -1)

    def dump(self) -> bytes:
        return dump_strings(self.values)

    @classmethod
    def load(cls, data: bytes) -> Interner:
        return cls(load_strings(data))


def distinct(values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The distinct values, ascending: as np.unique, whose first call imports numpy.ma (15 ms)."""
    ordered = np.sort(values)
    first = np.concatenate((np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1]))
    kept: npt.NDArray[Scalar] = ordered[first]
    return kept


def distinct_places(values: npt.NDArray[Scalar]) -> tuple[npt.NDArray[Scalar], IntArray]:
    """The distinct values, ascending, and the place of each value among them."""
    kept = distinct(values)
    return kept, kept.searchsorted(values)


def dump_strings(values: Sequence[str]) -> bytes:
    """Join strings by NUL; if a string contains NUL, escape it."""
    if any("\x00" in value or "\x1b" in value for value in values):
        values = [value.replace("\x1b", "\x1b1").replace("\x00", "\x1b0") for value in values]
        return b"E" + "\x00".join(values).encode("utf-8", "surrogatepass")
    return (b"P" if values else b"0") + "\x00".join(values).encode("utf-8", "surrogatepass")


def load_strings(data: bytes) -> list[str]:
    if data[:1] == b"0":
        return []
    values = bytes(data[1:]).decode("utf-8", "surrogatepass").split("\x00")
    if data[:1] == b"E":
        return [value.replace("\x1b0", "\x00").replace("\x1b1", "\x1b") for value in values]
    return values


# --- columns with a history -----------------------------------------------------------------------
#
# Versions of many owners, and which one was current at a position.
#
# A version is a record: owner, the seq from which it is current, and values. Besides the version before it (`prev`)
# it keeps one far ancestor (`jump`, Myers' skew-binary pointers, 1983), so the version that was current at any seq
# is found in O(log versions) steps, for many owners at once, and appending stays O(1).

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

    def begin(self, seqs: IntArray, columns: Mapping[str, npt.ArrayLike]) -> None:
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
        """seq, owner, prev, jump, depth, without reading the values after them."""
        links: tuple[int, int, int, int, int] = _READ_LINKS(self.table.bytes, node * self.table.width)
        return links

    def _jump_from(self, prev: int, jump: int, depth: int) -> int:
        """Where the successor of `prev` jumps to: over two equal strides at once, else one step."""
        if jump < 0:
            return prev
        _, _, _, far, jump_depth = self._links(jump)
        if far >= 0 and depth - jump_depth == jump_depth - self._links(far)[4]:
            return far
        return prev

    def at(self, owners: IntArray | Int32Array, seqs: int | IntArray) -> Int32Array:
        """Each owner's version that was current at a seq, the same for all or one for each; -1 before its first version."""
        known = owners < len(self._latest)
        nodes: Int32Array = np.full(len(owners), -1, dtype=np.int32)
        nodes[known] = self._latest.array[owners[known]]
        records = self.table.array
        at, prevs, jumps = records["seq"], records["prev"], records["jump"]
        late = np.flatnonzero((nodes >= 0) & (at[nodes] > seqs)) if len(records) else np.empty(0, np.int64)
        while len(late):
            here, wanted = nodes[late], seqs[late] if isinstance(seqs, np.ndarray) else seqs
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

    def load(self, prefix: str, state: Saved) -> None:
        self.adopt(state[f"{prefix}.table"], state[f"{prefix}.latest"])
