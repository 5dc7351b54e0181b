"""Watching: reconcile at the start, on file system events (only what changed), and every few minutes as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from recollect.engine.writer import Writer
from recollect.events.errors import InvalidInput
from recollect.interfaces.common.counting import counted
from recollect.interfaces.common.file_uris import shown
from recollect.interfaces.folders import sync_report
from recollect.interfaces.folders.folder import Folder
from recollect.interfaces.folders.folder_sync import Bars, FolderSync, Settings, Step
from recollect.interfaces.folders.fs_events import changed_paths
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.report import Happened, WatchReport, What
from recollect.interfaces.folders.rules import IGNORE_FILES

_ROUNDS = 5
_AGAIN_S = 2.0

Tell = Callable[[Happened], None]


class Watcher:
    """Watch several folders for one store. `tell` is called with every change as it happens."""

    def __init__(
        self,
        folders: Sequence[Folder],
        writer: Writer,
        settings: Settings,
        timing: Timing,
        *,
        tell: Tell | None = None,
    ) -> None:
        self._syncs = [FolderSync(folder, writer, settings, timing) for folder in folders]
        self._store = writer.store
        self._timing = timing
        self._tell = tell or (lambda _: None)
        self._paused: dict[FolderSync, str] = {}
        self._said: set[tuple[str, str, str]] = set()
        self._whole: dict[FolderSync, Step] = {}
        self._touched: dict[FolderSync, set[str]] = {sync: set() for sync in self._syncs}
        self._cut = False
        self._report = WatchReport(folders=tuple(folder.shown for folder in folders))

    def once(self, bars: Bars | None = None) -> WatchReport:
        """Make the store equal to the folders; waits for files in their grace period or being written."""
        for sync in self._syncs:
            step = _whole(self._full(sync, bars))
            for _ in range(_ROUNDS):
                if step.paused is not None or not sync.waiting or self._timing.stop.is_set():
                    break
                self._timing.stop.wait(max(self._timing.grace_s, self._timing.settle_s))
                step = _whole(self._step(sync, sync.waiting))
        self._store.sealer.start()
        return self._finished()

    def run(
        self,
        *,
        every_s: float,
        poll: bool = False,
        idle: Callable[[], None] = lambda: None,
        bars: Bars | None = None,
    ) -> WatchReport:
        """Stay until asked to stop; `idle` is called about twice a second, between steps."""
        for sync in self._syncs:
            step = self._patiently(sync, partial(self._full, sync, bars))
            memories = sum(known.standing == "visible" for known in sync.manifest)
            detail = f"{counted(len(step.seen.files), 'file')}, {counted(memories, 'memory')}"
            self._tell(Happened(what="watching", folder=sync.folder.shown, detail=detail))
        self._store.sealer.start()
        own = None if self._store.folder is None else str(self._store.folder.resolve())
        folders = [sync.folder for sync in self._syncs]
        full_at = self._timing.clock() + every_s
        stop = self._timing.stop
        for changed in changed_paths(folders, without=own, stop=stop, poll=poll, complain=self._complain):
            due = self._timing.clock() >= full_at
            for sync in self._syncs:
                if stop.is_set():
                    break
                self._follow(sync, None if due else changed)
            if due:
                full_at = self._timing.clock() + every_s
            if not stop.is_set():
                idle()
        return self._finished()

    def _follow(self, sync: FolderSync, changed: set[str] | None) -> None:
        scope = None if changed is None else _scope(sync.folder, changed)
        if scope is None or scope or sync.due:
            self._patiently(sync, partial(self._step, sync, scope))

    def _patiently(self, sync: FolderSync, work: Callable[[], Step]) -> Step:
        """Try again while something that passes is in the way; tell what it is once, and when it is over."""
        told: type | None = None  # the words of an error may count seconds
        while (step := work()).failure is not None:
            if type(step.failure) is not told:
                told = type(step.failure)
                self._tell(Happened(what="degraded", folder=sync.folder.shown, detail=str(step.failure)))
            if self._timing.stop.wait(_AGAIN_S):
                return step
        if told is not None:
            self._tell(Happened(what="resumed", folder=sync.folder.shown))
        return step

    def _full(self, sync: FolderSync, bars: Bars | None) -> Step:
        step = self._step(sync, None, bars)
        if step.paused is None and not step.stopped and sync.folder.marker() is None:
            raise InvalidInput(f"there is no folder {sync.folder.shown}")
        return step

    def _step(self, sync: FolderSync, scope: set[str] | None, bars: Bars | None = None) -> Step:
        step = sync.step(scope, bars)
        if not step.stopped:
            self._say_pause(sync, step)
        for happened in sync_report.happenings(sync, step):
            self._tell(happened)
        for path, reason in step.quarantined.items():
            self._say_once("quarantined", sync, path, reason)
        for path, why in step.seen.unreadable.items():
            self._say_once("degraded", sync, path, f"cannot be read ({why}); what is known of it is kept")
        sync_report.add(self._report, step)
        self._touched[sync] |= {fact.id for change in step.changes for fact in change.facts}
        self._note(sync, step)
        self._cut = step.stopped
        return step

    def _note(self, sync: FolderSync, step: Step) -> None:
        """Keep what is known of the whole folder; ignore a scan that was cut short."""
        whole = self._whole.get(sync)
        if whole is None or (step.scope is None and not step.stopped):
            self._whole[sync] = step
        elif step.scope is not None and not step.stopped:
            whole.follow(step)

    def _say_pause(self, sync: FolderSync, step: Step) -> None:
        before = self._paused.get(sync)
        if step.paused is not None and before is None:
            self._paused[sync] = step.paused
            self._tell(Happened(what="paused", folder=sync.folder.shown, detail=step.paused))
        elif step.paused is None and before is not None:
            del self._paused[sync]
            self._tell(Happened(what="resumed", folder=sync.folder.shown))

    def _say_once(self, what: What, sync: FolderSync, path: str, detail: str) -> None:
        folder = sync.folder.shown
        if (folder, path, detail) not in self._said:
            self._said.add((folder, path, detail))
            self._tell(Happened(what=what, folder=folder, path=shown(path), detail=detail))

    def _complain(self, detail: str) -> None:
        for sync in self._syncs:
            self._say_once("degraded", sync, "", detail)

    def _finished(self) -> WatchReport:
        for sync, step in self._whole.items():
            sync_report.describe(self._report, sync, step, self._touched[sync])
        stopped = (
            ("stopped before everything was compared; the next run goes on from here",) if self._cut else ()
        )
        degraded = (*self._report.degraded, *self._paused.values(), *stopped)
        return msgspec.structs.replace(self._report, degraded=degraded)


def _whole(step: Step) -> Step:
    """A step that nothing ended early, or the error that did."""
    if step.failure is not None:
        raise step.failure
    return step


def _scope(folder: Folder, changed: set[str]) -> set[str]:
    """The changed paths inside this folder, relative to it; a changed ignore file means its whole directory."""
    scope: set[str] = set()
    prefix = folder.path.rstrip("/") + "/"
    for path in changed:
        if path == folder.path:
            scope.add("")
        elif path.startswith(prefix):
            inner = path[len(prefix) :]
            above, _, name = inner.rpartition("/")
            scope.add(above if name in IGNORE_FILES else inner)
    return scope
