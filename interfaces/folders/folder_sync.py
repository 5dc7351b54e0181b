"""One folder kept equal to the store: a step is look, read, plan, write, link. Any step may be the last one.

Only one thing is carried from step to step: how long a file has been missing. All else is read again from the log and
the disk, so a sync may be killed at any point and another may take over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import msgspec

from recollect.engine.store import Progress
from recollect.engine.writer import Writer
from recollect.events.errors import LogBusy, LogFailed, LogReplaced
from recollect.interfaces.folders.chunk import BINARY, EXPORTED, fingerprint
from recollect.interfaces.folders.file_cache import FileCache, Remembered
from recollect.interfaces.folders.folder import Folder, Marker, doubt
from recollect.interfaces.folders.lease import FolderBusy, lease
from recollect.interfaces.folders.link_edges import wanted_edges
from recollect.interfaces.folders.manifest import Manifest
from recollect.interfaces.folders.missing import gone_paths, unnoticed
from recollect.interfaces.folders.reading import Reading, Stopped, Timing, read_all
from recollect.interfaces.folders.reconcile import Disk, Document, FileChange, reconcile
from recollect.interfaces.folders.rules import MAX_BYTES, Rules
from recollect.interfaces.folders.scan import FileStamp, Seen, scan
from recollect.interfaces.folders.writing import FolderWriter, Overtaken

Bars = Callable[[str], AbstractContextManager[Progress]]
_ATTEMPTS = 20
_PASSES = (FolderBusy, Overtaken, LogBusy, LogFailed, OSError)

T = TypeVar("T")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    ignore: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES
    project: str | None = None
    accept_root: bool = False


class Step(msgspec.Struct, kw_only=True):
    """What one step found and did; `scope` is where it looked, None for everywhere.

    `failure` is what ended it early and passes with time: a full disk, another process that holds the log or the folder.
    """

    scope: set[str] | None = None
    seen: Seen = msgspec.field(default_factory=Seen)
    changes: list[FileChange] = []
    linked: int = 0
    unlinked: int = 0
    quarantined: dict[str, str] = {}
    paused: str | None = None
    stopped: bool = False
    failure: Exception | None = None

    def follow(self, later: Step) -> None:
        """Replace what this step saw by what a later one saw in its scope, including the old paths of moved files."""
        assert later.scope is not None
        scope = later.scope | {change.was for change in later.changes if change.was is not None}
        _replace(self.seen.files, later.seen.files, scope)
        _replace(self.seen.refused, later.seen.refused, scope)
        _replace(self.seen.unreadable, later.seen.unreadable, scope)
        _replace(self.quarantined, later.quarantined, scope)


def _replace(old: dict[str, T], new: dict[str, T], scope: set[str]) -> None:
    """Replace the entries at and below the paths of a scope by the new ones."""
    below = tuple(f"{path}/" for path in scope if old.pop(path, None) is None)
    for path in [path for path in old if path.startswith(below)] if below else ():
        del old[path]
    old.update(new)


class FolderSync:
    """Keeps the store equal to one folder."""

    def __init__(self, folder: Folder, writer: Writer, settings: Settings, timing: Timing) -> None:
        self.folder = folder
        self.manifest = Manifest(folder.path, writer.store)
        self._store = writer.store
        self._settings = settings
        self._too_large = f"over {settings.max_bytes:,} bytes"
        self._timing = timing
        self._cache = FileCache(folder, writer.store.cache)
        self._writer = FolderWriter(writer, self.manifest, timing)
        self._missing_since: dict[str, float] = {}
        self._unsettled: set[str] = set()
        self._links_moved = True

    def step(self, scope: Iterable[str] | None = None, bars: Bars | None = None) -> Step:
        """Make the store equal to the folder, or to what lies at and below the paths of the scope."""
        step = Step()
        try:
            self._store.require_writable()
            with lease(self.folder, self._store.cache, sleep=self._timing.sleep):
                self._step(step, None if scope is None else set(scope), bars)
        except Stopped:
            step.stopped = True
        except LogReplaced:  # other files would have to be opened
            raise
        except _PASSES as error:
            step.stopped, step.failure = True, error
        return step

    @property
    def waiting(self) -> set[str]:
        """Files that are missing but within their grace period, or that were being written."""
        return set(self._missing_since) | self._unsettled

    @property
    def due(self) -> bool:
        """Whether the wait for a missing or growing file is over."""
        now = self._timing.clock()
        over = any(now - since >= self._timing.grace_s for since in self._missing_since.values())
        return over or bool(self._unsettled)

    def _step(self, step: Step, scope: set[str] | None, bars: Bars | None) -> None:
        self._links_moved |= bool(self.manifest.refresh())
        marker = self.folder.marker()
        if marker is None or marker != self._cache.marker or (scope is not None and "" in scope):
            scope = None
        elif scope is not None:
            scope |= set(self._missing_since) | self._unsettled
        step.scope = scope
        step.seen = Seen() if marker is None else scan(self.folder.path, self._rules(), scope)
        step.paused = self._doubt(marker, step.seen) if scope is None else None
        if step.paused is None:
            self._make_equal(step, scope, bars)
            self._cache.marker = marker
            self._cache.save()

    def _rules(self) -> Rules:
        store = self._store.folder
        own = None if store is None else Folder(str(store)).marker()
        return Rules(self.folder.path, ignore=self._settings.ignore, own=own)

    def _doubt(self, marker: Marker | None, seen: Seen) -> str | None:
        known = self.manifest.paths()
        if marker is not None and self._settings.accept_root:
            return None
        found = sum(path in seen.files or path in seen.refused for path in known)
        return doubt(self.folder, now=marker, before=self._cache.marker, known=known, found=found)

    def _make_equal(self, step: Step, scope: set[str] | None, bars: Bars | None) -> None:
        reading = self._read(step, bars)
        documents = self._documents(step, reading)
        gone = gone_paths(self.manifest, step.seen, scope, self._cache, self.folder.path)
        gone |= unnoticed(self.manifest, documents, set(gone), self._cache, self.folder.path)
        last_stamps = {path: known.stamp for path, known in self._cache.files.items()}
        last_stamps |= {path: taken.stamp for path, taken in reading.taken.items()}
        disk = Disk(
            documents=documents,
            gone=gone,
            overdue=self._overdue(set(gone)),
            inodes={path: (stamp.device, stamp.inode) for path, stamp in last_stamps.items()},
            mtimes={path: taken.stamp.mtime_ns // 1_000 for path, taken in reading.taken.items()},
            now=self._store.clock(),
        )
        self._write(step, disk, bars)
        if self._links_moved:
            step.linked, step.unlinked = self._writer.link(wanted_edges(self.manifest))
            self._links_moved = False
        self._remember(reading, disk)

    def _read(self, step: Step, bars: Bars | None) -> Reading:
        """Read the files that may have changed; skip those with the same stamp as when they were last read or found unreadable."""
        wanted: dict[str, FileStamp] = {}
        for path, stamp in list(step.seen.files.items()):
            if stamp.size > self._settings.max_bytes:
                self._set_aside(step, path, self._too_large)
            elif reason := self._cache.unreadable(path, stamp):
                self._set_aside(step, path, reason)
            elif self._differs_in_project(path) or not self._cache.unchanged(
                path, stamp, self.manifest.fingerprint(path)
            ):
                wanted[path] = stamp
        with bars("reading") if bars and wanted else nullcontext() as progress:
            return read_all(
                self.folder.path, wanted, self._timing, max_bytes=self._settings.max_bytes, progress=progress
            )

    def _set_aside(self, step: Step, path: str, reason: str) -> None:
        """Leave out files that are not notes; quarantine a file that was a note until now, and a note that cannot be read."""
        turned = reason in (BINARY, self._too_large)
        if reason == EXPORTED or (turned and not self.manifest.holds(path)):
            del step.seen.files[path]
            step.seen.refused[path] = reason
        else:
            step.quarantined[path] = f"it is {reason} now" if turned else reason

    def _documents(self, step: Step, reading: Reading) -> dict[str, Document]:
        """The files that differ from the store; the rest is noted in the step."""
        for path in reading.vanished:
            del step.seen.files[path]
        for path, why in reading.failed.items():
            del step.seen.files[path]
            step.seen.unreadable[path] = why
        self._unsettled = reading.unsettled
        documents: dict[str, Document] = {}
        for path, taken in reading.taken.items():
            if taken.document is None:
                self._cache.files[path] = Remembered(taken.stamp, reason=taken.reason)
                self._set_aside(step, path, taken.reason)
            elif fingerprint(chunk.print for chunk in taken.document) != self.manifest.fingerprint(
                path
            ) or self._differs_in_project(path):
                documents[path] = taken.document
        return documents

    def _differs_in_project(self, path: str) -> bool:
        wanted = self._settings.project
        return wanted is not None and any(k.counts and k.project != wanted for k in self.manifest.at(path))

    def _overdue(self, gone: set[str]) -> set[str]:
        """Those that have been missing for the whole grace period."""
        now = self._timing.clock()
        self._missing_since = {path: self._missing_since.get(path, now) for path in gone}
        return {path for path, since in self._missing_since.items() if now - since >= self._timing.grace_s}

    def _write(self, step: Step, disk: Disk, bars: Bars | None) -> None:
        for _ in range(_ATTEMPTS):
            changes = reconcile(disk, self.manifest, folder=self.folder.path, project=self._settings.project)
            self._links_moved |= bool(changes)
            with bars("keeping") if bars and changes else nullcontext() as progress:
                if self._writer.write(changes, step.changes, progress):
                    return
        raise Overtaken(
            f"others changed the memories of {self.folder.shown} in each of {_ATTEMPTS} attempts to write; "
            f"what was written is whole. Try when it is quiet"
        )

    def _remember(self, reading: Reading, disk: Disk) -> None:
        """Save which files need not be read again, and which are still waited for."""
        for path, taken in reading.taken.items():
            if taken.document is not None:
                now_is = self.manifest.fingerprint(path)
                if now_is == fingerprint(chunk.print for chunk in taken.document):
                    self._cache.read(path, taken.stamp, now_is, now_ns=time.time_ns())
        known = set(self.manifest.paths())
        for path in disk.gone:
            if path not in known:
                self._missing_since.pop(path, None)
                self._cache.files.pop(path, None)
