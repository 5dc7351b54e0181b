"""Which pack each event came in, kept beside the mirror: 32 bytes for each position.

    offset  bytes  field
         0      8  seq of the pack's first event
         8      4  number of its events
        12     16  id of the pack, which names its box
        28      4  CRC-32 of bytes 0..27

Written after the mirror, and under its lock. So a record that is missing here is read again from the engine and
compared; the file ends at the first record that a power cut garbled. The last record is the last pack that this
replica has seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from recollect.events.private_files import open_private

_RECORD = Struct("<QI16s")
_BYTES = _RECORD.size + 4


class Place(NamedTuple):
    """A pack that was taken over."""

    position: int
    first_seq: int
    events: int
    id: bytes

    @property
    def last_seq(self) -> int:
        return self.first_seq + self.events - 1

    @property
    def box(self) -> str:
        return self.id.hex()


class PackIndex:
    """`position` is the last pack that this instance knows of; `reload` sees what other processes took over."""

    def __init__(self, path: Path, head: int) -> None:
        self._descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        self.position = 0
        self.reload(head)

    def reload(self, head: int) -> None:
        """Go to the last whole record whose events are in the mirror, which ends at `head`."""
        position = os.fstat(self._descriptor).st_size // _BYTES
        while position and ((place := self._read(position)) is None or place.last_seq > head):
            position -= 1
        self.position = position

    @property
    def last(self) -> Place | None:
        return self.place(self.position) if self.position else None

    def place(self, position: int) -> Place:
        found = self._read(position)
        if found is None:
            raise OSError(f"the index of packs cannot be read at {position}; delete it, and it is made again")
        return found

    def of(self, seq: int) -> Place:
        """The pack that an event came in: the first one whose last event is not before it."""
        low, high = 1, self.position
        while low < high:
            middle = (low + high) // 2
            if self.place(middle).last_seq >= seq:
                high = middle
            else:
                low = middle + 1
        return self.place(low)

    def append(self, first_seq: int, events: int, id_: bytes) -> None:
        fields = _RECORD.pack(first_seq, events, id_)
        os.pwrite(self._descriptor, fields + crc32(fields).to_bytes(4, "little"), self.position * _BYTES)
        self.position += 1

    def close(self) -> None:
        os.close(self._descriptor)

    def _read(self, position: int) -> Place | None:
        data = os.pread(self._descriptor, _BYTES, (position - 1) * _BYTES)
        if len(data) < _BYTES or crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            return None
        return Place(position, *_RECORD.unpack_from(data))
