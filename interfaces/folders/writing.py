"""Changes into the log: facts in atomic batches, each conditional on the log that it was planned from.

When others wrote in between, the batch is still good unless they touched the same files; then it is planned again.
A file's change is never split. An event that brings a new memory has an id of its own making, so that even a batch
whose acknowledgement was lost is not written twice, and what was erased does not come back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from recollect.engine.batches import batches
from recollect.engine.store import Progress, Store
from recollect.events.envelope import EventId
from recollect.events.errors import EventIdReused, RecollectError
from recollect.events.facts import AnyFact, Forgotten, Ingested, Linked, Restored, Revised, Unlinked
from recollect.interfaces.folders.chunk import CHUNKER, digest
from recollect.interfaces.folders.link_edges import KIND
from recollect.interfaces.folders.manifest import Manifest
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.reconcile import FileChange, Forget, Ingest, Restore, Revise

_BATCH = 512
_EMBEDDED_AT_ONCE = 64


class Overtaken(RecollectError):
    """Another process kept changing the same memories while they were being written."""


class Port(Protocol):
    """What the watcher needs of an open store."""

    @property
    def store(self) -> Store: ...

    @property
    def embed(self) -> Callable[[Sequence[AnyFact]], list[AnyFact]]:
        """Gives facts the vectors of their texts."""
        ...

    def append(
        self, facts: Sequence[AnyFact], ids: Sequence[EventId | None], *, expect: int
    ) -> list[int]: ...


class Writer:
    def __init__(self, port: Port, manifest: Manifest, timing: Timing, *, project: str | None) -> None:
        self._port = port
        self._timing = timing
        self._manifest = manifest
        self._project = project

    def write(
        self,
        changes: Sequence[FileChange],
        mtimes: Mapping[str, int],
        done: list[FileChange],
        progress: Progress | None,
    ) -> bool:
        """Write the changes and add them to `done`; says whether all are. If not, the rest must be planned again.

        `mtimes` are in µs. Asked to stop, it does so between two batches.
        """
        written = 0
        for batch in batches(changes, lambda change: len(change.actions), full=_BATCH):
            self._timing.check()
            now = self._port.store.clock()
            drafts = [draft for change in batch for draft in self._drafts(change, mtimes, now)]
            facts: list[AnyFact] = []
            for start in range(0, len(drafts), _EMBEDDED_AT_ONCE):
                facts += self._port.embed([fact for fact, _ in drafts[start : start + _EMBEDDED_AT_ONCE]])
                if progress is not None:
                    progress(written + len(batch) * len(facts) // len(drafts), len(changes))
            paths = {change.path for change in batch} | {change.was for change in batch}
            fresh = self._append(facts, [id_ for _, id_ in drafts], paths)
            if fresh is None:
                return False
            done += _written(batch, fresh)
            written += len(batch)
        return True

    def _append(
        self, facts: Sequence[AnyFact], ids: Sequence[EventId | None], paths: set[str | None]
    ) -> list[bool] | None:
        """Append; return for each fact whether it is new, or None if another process changed these paths meanwhile."""

        def attempt() -> list[bool] | None:
            if self._manifest.refresh() & paths:
                return None
            basis = self._manifest.seq
            try:
                seqs = self._port.append(facts, ids, expect=basis)
            except EventIdReused:
                self._manifest.refresh()
                return None
            self._manifest.refresh()
            return [seq > basis for seq in seqs[-len(facts) :]]

        return self._port.store.decide(attempt)

    def _drafts(
        self, change: FileChange, mtimes: Mapping[str, int], now: int
    ) -> Iterator[tuple[AnyFact, EventId | None]]:
        """The facts of a change. A text is as old as its file says, but never from the future."""
        written = min(mtimes.get(change.path, now), now)
        for action in change.actions:
            match action:
                case Ingest():
                    yield self._ingested(action, written), _event_id(action)
                case Revise(known=known, changes=changes):
                    at = max(known.updated_at, written)
                    yield Revised(id=known.id, at=at, **changes), None  # type: ignore[arg-type]
                case Forget(id=id_, reason=reason):
                    yield Forgotten(id=id_, reason=reason), None
                case Restore(id=id_, reason=reason):
                    yield Restored(id=id_, reason=reason), None

    def _ingested(self, action: Ingest, written: int) -> Ingested:
        meta = action.chunk.meta
        return Ingested(
            id=action.id,
            content=action.chunk.text,
            at=written if meta.at is None else meta.at,
            kind=meta.kind,
            tags=action.chunk.tags,
            entities=meta.aliases,
            project=self._project,
            source=action.source,
            valid_from=meta.valid_from,
            valid_to=meta.valid_to,
        )

    def link(self, wanted: set[tuple[str, str]]) -> tuple[int, int]:
        """Make the folder's edges these; returns how many were added and removed."""

        def attempt() -> tuple[int, int]:
            self._manifest.refresh()
            standing = self._manifest.edges(KIND)
            added, removed = sorted(wanted - standing), sorted(standing - wanted)
            facts: list[AnyFact] = [Unlinked(a=a, b=b, kind=KIND) for a, b in removed]
            facts += [Linked(a=a, b=b, kind=KIND) for a, b in added]
            if facts:
                self._port.append(facts, [None] * len(facts), expect=self._manifest.seq)
                self._manifest.refresh()
            return len(added), len(removed)

        return self._port.store.decide(attempt)


def _written(batch: Sequence[FileChange], fresh: Sequence[bool]) -> list[FileChange]:
    """The changes as far as they were written: what was erased before is not written again."""
    news = iter(fresh)
    kept = [
        msgspec.structs.replace(change, actions=tuple(action for action in change.actions if next(news)))
        for change in batch
    ]
    return [change for change in kept if change.actions]


def _event_id(action: Ingest) -> EventId:
    whole = f"{CHUNKER}\0{action.source}\0{action.id}\0".encode() + digest(action.chunk.text)
    return hashlib.sha256(whole).digest()[:16]
