"""The `head` file: what readers may see, and what was certainly on disk.

Four slots of 40 bytes, each at a multiple of 512: two marks and two publications, written in turn, so that a
torn write leaves the one before.

    offset  bytes  field
         0      4  magic 'RcHd'
         4      4  remade at: how many events the log had when nothing could be read here; 0 if that never was
         8      8  counter: of two slots the higher one counts
        16      8  visible seq
        24      8  durable seq
        32      4  boot: which start of the machine wrote it (`Disk.boot`); 0 if that was not known
        36      4  CRC-32 of bytes 0..35

*Publications* (slots 2 and 3) are how other processes learn of new events. Other processes can read a frame in the
page cache before its writer has synced it, so readers do not look at the segment's end: they read up to the visible
seq, which the writer raises under the writer lock, after the sync for a durable event and at once for an unsafe one.
A publication is not synced: it need not survive a power cut. One that was written since the machine started is exact
(`of_this_boot`): an event that it does not call durable was never acknowledged as durable.

*Marks* (slots 0 and 1) are synced, at every clean close, at every new segment and now and then in between.
Recovery relies on them: what they call durable was acknowledged. The first one is written when the file is made, so a
log with acknowledged events has a file in which something can be read; where it is missing, emptied or overwritten,
events may have been cut from the log's end, and the file made anew remembers for good that this was so (`remade at`).

After a power cut a publication may be old, or name unsafe events that are gone. So it never overrides the segments:
`visible` is a limit for readers, and only `durable` (true when it was written, and therefore for ever) is evidence.
"""

from __future__ import annotations

import threading
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from recollect.events.disk import Disk, read_whole, synced_directory
from recollect.events.process_forks import renewed_in_children
from recollect.events.regular_files import Refused

HEAD = "head"
_SLOT = Struct("<4sIQQQII")
_MAGIC = b"RcHd"
_SLOT_STRIDE = 512
_MARKS = (0, 1)
_PUBLICATIONS = (2, 3)
_FILE_BYTES = 3 * _SLOT_STRIDE + _SLOT.size


class Position(NamedTuple):
    """How far a log goes: for readers, and for a power cut."""

    visible: int
    durable: int


class _Slot(NamedTuple):
    remade_at: int
    counter: int
    visible: int
    durable: int
    boot: int


class HeadFile:
    """Written only under the writer lock; read without it, by any thread."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path
        self._descriptor: int | None = None
        self._seen = bytearray(_FILE_BYTES)
        self._published: Position | None = None
        self._boot = disk.boot()
        self.of_this_boot = False
        self._counters = [0, 0, 0, 0]
        self.renew_locks()
        renewed_in_children(self)
        self.witnessed = 0
        self.remade_at = 0

    def renew_locks(self) -> None:
        self._guard = threading.Lock()

    def create(self) -> bool:
        """Open the file, made durably if it is missing; returns whether nothing can be read in it."""
        if self._descriptor is None and not self._opened(write=True):
            with synced_directory(self._disk, self._path.parent):
                self._descriptor = self._disk.open(self._path, create=True)
        self.published()
        return not any(self._counters)

    def remake(self, position: Position, *, events: int) -> None:
        """Write the first mark of a file in which nothing can be read, beside a log of so many events."""
        self.remade_at = max(self.remade_at, events)
        self.mark(position)

    def published(self) -> Position | None:
        """The latest publication; None if no slot can be read."""
        with self._guard:
            if self._descriptor is None and not self._opened(write=False):
                return None
            assert self._descriptor is not None
            data = self._disk.read(self._descriptor, _FILE_BYTES, 0)
            if data != self._seen:
                self._take(data)
            return self._published

    def is_in_place(self) -> bool:
        """Whether the open file is still the one in the directory; True if none is open."""
        return self._descriptor is None or self._disk.size_in_place(self._descriptor) is not None

    def publish(self, position: Position) -> None:
        """Let readers see this much from now on."""
        with self._guard:
            self._write(_PUBLICATIONS, position)
            self._published = position
            self.of_this_boot = self._boot != 0

    def mark(self, position: Position) -> None:
        """Record for recovery what is durable."""
        with self._guard:
            self._write(_MARKS, position)
        assert self._descriptor is not None
        self._disk.sync(self._descriptor)

    def missing_at(self, head: int) -> int:
        """How many of the log's `head` events existed when nothing could be read in this file; 0 if that never was."""
        return max((slot.remade_at for slot in _slots(self._content()) if slot), default=head)

    def knows_of(self) -> int:
        """How many events the log certainly had, by all that can be read here."""
        slots = [slot for slot in _slots(self._content()) if slot]
        return max((max(slot.durable, slot.remade_at) for slot in slots), default=0)

    def torn(self) -> int:
        """How many of the slots were written and cannot be read; one is all zeros until its pair has counted further."""
        data = self._content()
        slots = _slots(data)
        counted = [slot.counter if slot else 0 for slot in slots]
        written = [any(_fields(data, number)) or counted[number ^ 1] > 1 for number in range(len(slots))]
        return sum(slot is None and written[number] for number, slot in enumerate(slots))

    def _content(self) -> bytes:
        """What is in the file now; nothing if it is missing, or is no file."""
        try:
            return read_whole(self._disk, self._path, bytes_max=_FILE_BYTES) or b""
        except Refused:
            return b""

    def close(self) -> None:
        if self._descriptor is not None:
            self._disk.close(self._descriptor)
            self._descriptor = None

    def _opened(self, *, write: bool) -> bool:
        try:
            self._descriptor = self._disk.open(self._path, write=write)
        except FileNotFoundError:
            return False
        return True

    def _take(self, data: bytes) -> None:
        slots = _slots(data)
        self._counters = [slot.counter if slot else 0 for slot in slots]
        latest = slots[max(_PUBLICATIONS, key=self._counters.__getitem__)]
        self._published = Position(latest.visible, latest.durable) if latest else None
        self.of_this_boot = latest is not None and latest.boot == self._boot != 0
        for slot in filter(None, slots):
            self.remade_at = max(self.remade_at, slot.remade_at)
            self.witnessed = max(self.witnessed, slot.durable)
        self._seen[:] = data.ljust(_FILE_BYTES, b"\0")  # last: an interrupted taking is taken again

    def _write(self, pair: tuple[int, int], position: Position) -> None:
        """Write into the older slot of a pair."""
        assert self._descriptor is not None
        old, new = sorted(pair, key=self._counters.__getitem__)
        counter = self._counters[new] + 1
        fields = _SLOT.pack(_MAGIC, self.remade_at, counter, *position, self._boot, 0)[:-4]
        slot = fields + crc32(fields).to_bytes(4, "little")
        at = old * _SLOT_STRIDE
        self._disk.write(self._descriptor, slot, at)
        self._seen[at : at + len(slot)] = slot
        self._counters[old] = counter
        self.witnessed = max(self.witnessed, position.durable)


def _slots(data: bytes) -> list[_Slot | None]:
    """The four slots, None for one that was never written or is torn."""
    return [_parse(_fields(data, number)) for number in range(4)]


def _fields(data: bytes, number: int) -> bytes:
    return data[number * _SLOT_STRIDE : number * _SLOT_STRIDE + _SLOT.size]


def _parse(fields: bytes) -> _Slot | None:
    if len(fields) < _SLOT.size or crc32(fields[:-4]) != int.from_bytes(fields[-4:], "little"):
        return None
    magic, *numbers, _ = _SLOT.unpack(fields)
    return _Slot(*numbers) if magic == _MAGIC else None
