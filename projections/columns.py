"""Growing arrays: appended to one value at a time, read as numpy without a copy.

`Column` is one numpy array with room to grow; `Table` is the same for records. Both double their room when
it runs out, so a view handed out earlier stays valid for the part it covers. `Interner` numbers strings.
Their `dump`/`load` pairs are what checkpoints are made of.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
State = dict[str, npt.NDArray[Any] | bytes]

Scalar = TypeVar("Scalar", bound=np.generic)

NEVER = 2**63 - 1
_ROOM_MIN = 1024


class Column(Generic[Scalar]):
    """One growing array of numbers.

    The hottest loops read `cells` and `size` themselves; `cells` is another object after every growth.
    """

    __slots__ = ("_buffer", "cells", "size")

    def __init__(self, dtype: type[Scalar]) -> None:
        self._adopt(np.empty(_ROOM_MIN, dtype=dtype), 0)

    def _adopt(self, buffer: npt.NDArray[Scalar], size: int) -> None:
        self._buffer = buffer
        self.cells = cast("Any", memoryview(cast("Any", buffer)))
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return self.cells[index]

    def __setitem__(self, index: int, value: float) -> None:
        self.cells[index] = value

    @property
    def array(self) -> npt.NDArray[Scalar]:
        """The values so far, as a view."""
        return self._buffer[: self.size]

    def append(self, value: float) -> None:
        if self.size == len(self._buffer):
            self._grow(self.size + 1)
        self.cells[self.size] = value
        self.size += 1

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

    def load(self, values: npt.NDArray[Any]) -> None:
        """Take over `values` (writable) as the content."""
        self._adopt(np.ascontiguousarray(values, dtype=self._buffer.dtype), len(values))


class Table:
    """Growing records of numbers; `fields` are (name, struct code) pairs, such as ("seq", "q")."""

    __slots__ = ("_buffer", "_unpack", "bytes", "dtype", "pack", "size", "width")

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        layout = struct.Struct("<" + "".join(code for _, code in fields))
        self.pack = layout.pack_into
        self._unpack = layout.unpack_from
        self.width = layout.size
        self.dtype = np.dtype([(name, "<" + _numpy_code(code)) for name, code in fields])
        assert self.dtype.itemsize == self.width
        self._adopt(np.empty(_ROOM_MIN, dtype=self.dtype), 0)

    def _adopt(self, buffer: npt.NDArray[Any], size: int) -> None:
        self._buffer = buffer
        self.bytes = memoryview(cast("Any", buffer.view(np.uint8)))
        self.size = size

    def __len__(self) -> int:
        return self.size

    @property
    def array(self) -> npt.NDArray[Any]:
        """The records so far, as a view."""
        return self._buffer[: self.size]

    def row(self, index: int) -> tuple[Any, ...]:
        return self._unpack(self.bytes, index * self.width)

    def append(self, *values: float) -> int:
        index = self.room()
        self.pack(self.bytes, index * self.width, *values)
        self.size = index + 1
        return index

    def room(self) -> int:
        """Where the next record goes: a caller that packs it there itself raises `size` after that."""
        if self.size == len(self._buffer):
            self._grow()
        return self.size

    def extend(self, records: npt.NDArray[Any]) -> None:
        """Append many records of this table's dtype."""
        end = self.size + len(records)
        while end > len(self._buffer):
            self._grow()
        self._buffer[self.size : end] = records
        self.size = end

    def replace(self, index: int, *values: float) -> None:
        self.pack(self.bytes, index * self.width, *values)

    def _grow(self) -> None:
        room = np.empty(max(2 * len(self._buffer), _ROOM_MIN), dtype=self.dtype)
        room[: self.size] = self._buffer[: self.size]
        self._adopt(room, self.size)

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
    """The different values, ascending: what np.unique gives, whose first call imports numpy.ma for 15 ms."""
    ordered = np.sort(values)
    first = np.concatenate((np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1]))
    kept: npt.NDArray[Scalar] = ordered[first]
    return kept


def state_array(state: State, name: str) -> npt.NDArray[Any]:
    """An entry of a checkpoint that must be an array."""
    value = state[name]
    assert not isinstance(value, bytes)
    return value


def state_bytes(state: State, name: str) -> bytes:
    """An entry of a checkpoint that must be bytes."""
    value = state[name]
    assert isinstance(value, bytes)
    return value


def dump_strings(values: Sequence[str]) -> bytes:
    """Strings joined by NUL where none holds one, else with the NULs escaped."""
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
