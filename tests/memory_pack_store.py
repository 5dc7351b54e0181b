"""A pack store in memory: the same promises as the real ones, gone with the process."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from hashlib import sha256

from recollect.events.packs.store import Box, BoxMoved, StoreStatus, Unsettled


class MemoryPackStore:
    """May be shared by several logs."""

    where = "memory:"
    pack_bytes_max = 1_000_000
    fresh_s = 0.0
    copies: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.packs: list[bytes] = []
        self.boxes: dict[str, Box] = {}
        self.blobs: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def put_if(self, position: int, pack: bytes) -> None:
        with self._changed:
            if position != len(self.packs) + 1:
                raise Unsettled(f"the last position is {len(self.packs)}")
            self.packs.append(pack)
            self._changed.notify_all()

    def get(self, position: int) -> bytes | None:
        return self.packs[position - 1] if 0 < position <= len(self.packs) else None

    def get_many(self, first: int, count: int) -> list[bytes | None]:
        return [self.get(position) for position in range(first, first + count)]

    def others(self, position: int) -> Iterator[bytes]:
        found = self.get(position)
        return iter(() if found is None else (found,))

    def last(self, known: int) -> int:
        return len(self.packs)

    def wait(self, position: int, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.packs) >= position, timeout_s)

    def get_box(self, name: str) -> Box:
        return self.boxes.get(name, Box(0, b""))

    def get_boxes(self, names: Sequence[str]) -> list[Box]:
        return [self.get_box(name) for name in names]

    def get_versions(self, names: Sequence[str]) -> list[list[Box]]:
        return [[self.boxes[name]] if name in self.boxes else [] for name in names]

    def put_box(self, name: str, content: bytes, version: int) -> int:
        with self._changed:
            if self.get_box(name).version != version:
                raise BoxMoved(name)
            self.boxes[name] = Box(version + 1, content)
            return version + 1

    def delete_box(self, name: str) -> None:
        self.boxes.pop(name, None)

    def put_blob(self, content: bytes) -> str:
        digest = sha256(content).hexdigest()
        self.blobs[digest] = content
        return digest

    def get_blob(self, digest: str) -> bytes | None:
        return self.blobs.get(digest)

    def delete_blob(self, digest: str) -> None:
        self.blobs.pop(digest, None)

    def status(self) -> StoreStatus:
        return StoreStatus(kind="packs in memory", replication="none: one process")

    def close(self) -> None:
        """Do nothing: there are no connections."""
