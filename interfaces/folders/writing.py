"""Changes into the log: facts in atomic batches, each conditional on the log that it was planned from.

When others wrote in between, the batch is still good unless they touched the same files; then it is planned again.
A file's change is never split. An event that brings a new memory has an id of its own making, so that even a batch
whose acknowledgement was lost is not written twice, and what was erased does not come back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from recollect.engine.batches import batches
from recollect.engine.store import Progress
from recollect.engine.writer import Writer
from recollect.events.envelope import EventId
from recollect.events.errors import EventIdReused, RecollectError
from recollect.events.facts import AnyFact, Ingested, Linked, Unlinked
from recollect.interfaces.folders.chunk import CHUNKER, digest
from recollect.interfaces.folders.link_edges import KIND
from recollect.interfaces.folders.manifest import Manifest
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.reconcile import FileChange, NoteFact

_BATCH = 512
_EMBEDDED_AT_ONCE = 64


class Overtaken(RecollectError):
    """Another process kept changing the same memories while they were being written."""


class FolderWriter:
    """Writes the changes of one folder's files."""

    def __init__(self, writer: Writer, manifest: Manifest, timing: Timing) -> None:
        self._writer = writer
        self._timing = timing
        self._manifest = manifest

    def write(self, changes: Sequence[FileChange], done: list[FileChange], progress: Progress | None) -> bool:
        """Write the changes and add them to `done`; says whether all are. If not, the rest must be planned again.

        Asked to stop, it does so between two batches.
        """
        written = 0
        for batch in batches(changes, lambda change: len(change.facts), full=_BATCH):
            self._timing.check()
            planned = [fact for change in batch for fact in change.facts]
            facts: list[AnyFact] = []
            for start in range(0, len(planned), _EMBEDDED_AT_ONCE):
                facts += self._writer.embed(planned[start : start + _EMBEDDED_AT_ONCE])
                if progress is not None:
                    progress(written + len(batch) * len(facts) // len(planned), len(changes))
            paths = {change.path for change in batch} | {change.was for change in batch}
            fresh = self._append(facts, [_event_id(fact) for fact in planned], paths)
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
                seqs = self._writer.append(facts, ids, expect=basis)
            except EventIdReused:
                self._manifest.refresh()
                return None
            self._manifest.refresh()
            return [seq > basis for seq in seqs[-len(facts) :]]

        return self._writer.store.decide(attempt)

    def link(self, wanted: set[tuple[str, str]]) -> tuple[int, int]:
        """Make the folder's edges these; returns how many were added and removed."""

        def attempt() -> tuple[int, int]:
            self._manifest.refresh()
            standing = self._manifest.edges(KIND)
            added, removed = sorted(wanted - standing), sorted(standing - wanted)
            facts: list[AnyFact] = [Unlinked(a=a, b=b, kind=KIND) for a, b in removed]
            facts += [Linked(a=a, b=b, kind=KIND) for a, b in added]
            if facts:
                self._writer.append(facts, expect=self._manifest.seq)
                self._manifest.refresh()
            return len(added), len(removed)

        return self._writer.store.decide(attempt)


def _written(batch: Sequence[FileChange], fresh: Sequence[bool]) -> list[FileChange]:
    """The changes as far as they were written: what was erased before is not written again."""
    news = iter(fresh)
    kept = [
        msgspec.structs.replace(change, facts=tuple(fact for fact in change.facts if next(news)))
        for change in batch
    ]
    return [change for change in kept if change.facts]


def _event_id(fact: NoteFact) -> EventId | None:
    if not isinstance(fact, Ingested):
        return None
    whole = f"{CHUNKER}\0{fact.source}\0{fact.id}\0".encode() + digest(fact.content)
    return hashlib.sha256(whole).digest()[:16]
