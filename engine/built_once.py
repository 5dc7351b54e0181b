"""Shards and checkpoints of a log on several machines: one replica builds them, the others fetch and check them.

A shard is asked for by its digest and must have it; a checkpoint is used only if the log's chain value at its seq is the
one that it was made at, as with one that lies on this machine. What cannot be fetched, or is not what it should be, is
built here, and shared in its place. Nothing of this is needed to answer: an engine that does not take or give a file
costs time, and `status` says so.

    shard/<digest>                          an HNSW index, as `<digest>.hnsw`
    checkpoint/<versions>/<seq>             the projections of these versions, the newest alone

An erasure drops every file that may hold something of it (`drop_erased`), by whichever replica hears of it first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recollect.events.errors import LogFailed
from recollect.events.private_files import make_private
from recollect.events.regular_files import make_room
from recollect.projections import checkpoints

if TYPE_CHECKING:
    from recollect.events.packs.shared_files import SharedFiles

_WORTH_EVENTS = 2_000
T = TypeVar("T")


class BuiltOnce:
    """What is shared beside one log. Failures of the engine end in `files.trouble`, but for `drop_erased`."""

    def __init__(self, files: SharedFiles) -> None:
        self._files = files

    def lease(self, what: str) -> AbstractContextManager[bool]:
        return self._files.lease(what)

    # --- shards ----------------------------------------------------------------------------------

    def fetch(self, digest: str, into: Path) -> bool:
        return bool(self._tried(lambda: self._files.fetch(f"shard/{digest}", into)))

    def give(self, digest: str, path: Path) -> None:
        self._tried(lambda: self._files.put(f"shard/{digest}", path))

    # --- checkpoints -----------------------------------------------------------------------------

    def fetch_checkpoint(self, folder: Path, key: str, head: int) -> None:
        """Bring the shared checkpoint in if it is much newer than those that are here; the store checks it as its own."""
        local = [
            position.seq for path in checkpoints.paths(folder) if (position := checkpoints.position_of(path))
        ]
        seq, name = self._newest(key)
        if not name or seq > head or seq - max(local, default=0) < _WORTH_EVENTS:
            return
        make_private(folder)
        unfinished = folder / f".{seq:020d}.{os.getpid()}.tmp"
        try:
            if self._tried(lambda: self._files.fetch(name, unfinished)):
                place = folder / f"{seq:020d}.checkpoint"
                make_room(place)
                unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)

    def give_checkpoint(self, path: Path, key: str, seq: int) -> bool:
        """Share a checkpoint, one replica at a time, if it is much newer than the shared one; return whether it was."""
        newest, _ = self._newest(key)
        if seq - newest < _WORTH_EVENTS:
            return False
        prefix = _prefix(key)
        with self._files.lease("checkpoint") as mine:
            if mine:
                self._tried(lambda: self._files.put(f"{prefix}{seq:020d}", path))
                self._tried(lambda: self._files.drop(lambda name: _older(name, prefix, seq)))
            return mine

    def _newest(self, key: str) -> tuple[int, str]:
        """The seq and name of the newest shared checkpoint of these versions; 0 and "" if there is none."""
        prefix = _prefix(key)
        names = self._tried(self._files.listed) or {}
        return max(((_seq(name), name) for name in names if name.startswith(prefix)), default=(0, ""))

    # --- erasures --------------------------------------------------------------------------------

    def drop_erased(self, before: int, shards: Container[str]) -> list[str]:
        """Destroy what may hold something erased: checkpoints from before, and all but these shards. Raises LogFailed."""

        def may_hold(name: str) -> bool:
            kind, _, rest = name.partition("/")
            return rest not in shards if kind == "shard" else _seq(name) < before

        return self._files.drop(may_hold)

    def _tried(self, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except (LogFailed, OSError) as error:
            self._files.trouble = f"shards and checkpoints are not shared just now: {error}"
            return None


def _prefix(key: str) -> str:
    return f"checkpoint/{sha256(key.encode()).hexdigest()[:16]}/"


def _seq(name: str) -> int:
    last = name.rpartition("/")[2]
    return int(last) if last.isdecimal() else 0


def _older(name: str, prefix: str, seq: int) -> bool:
    return name.startswith(prefix) and _seq(name) < seq
