"""Watching: reconcile at the start, on every hint (only what it touches), and every few minutes as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from recollect.events.errors import InvalidInput
from recollect.interfaces.common.file_uris import shown
from recollect.interfaces.folders import sync_report as telling
from recollect.interfaces.folders.folder import Folder
from recollect.interfaces.folders.folder_sync import Bars, Keeper, Settings, Step
from recollect.interfaces.folders.fs_events import hints
from recollect.interfaces.folders.lease import FolderBusy
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.report import Happened, WatchReport, What, counted
from recollect.interfaces.folders.rules import IGNORE_FILES
from recollect.interfaces.folders.writing import Overtaken, Port

_ROUNDS = 5

Tell = Callable[[Happened], None]


class Watcher:
    """Several folders over one store. `tell` hears of every thing as it happens."""

    def __init__(
        self,
        folders: Sequence[Folder],
        port: Port,
        settings: Settings,
        timing: Timing,
        *,
        tell: Tell | None = None,
    ) -> None:
        self._keepers = [Keeper(folder, port, settings, timing) for folder in folders]
        self._store = port.store
        self._timing = timing
        self._tell = tell or (lambda _: None)
        self._paused: dict[Keeper, str] = {}
        self._said: set[tuple[str, str, str]] = set()
        self._whole: dict[Keeper, Step] = {}
        self._touched: dict[Keeper, set[str]] = {keeper: set() for keeper in self._keepers}
        self._cut = False
        self._report = WatchReport(folders=tuple(folder.shown for folder in folders))

    def once(self, bars: Bars | None = None) -> WatchReport:
        """Make the store equal to the folders; waits for files in their grace period or being written."""
        for keeper in self._keepers:
            step = self._full(keeper, bars)
            for _ in range(_ROUNDS):
                if not step.waiting or self._timing.stop.is_set():
                    break
                self._timing.stop.wait(max(self._timing.grace_s, self._timing.settle_s))
                step.waiting = self._step(keeper, step.waiting).waiting
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
        for keeper in self._keepers:
            step = self._patiently(keeper, partial(self._full, keeper, bars))
            memories = sum(known.standing == "visible" for known in keeper.manifest)
            detail = (
                f"{counted(len(step.seen.files), 'file', 'files')}, {counted(memories, 'memory', 'memories')}"
            )
            self._tell(Happened(what="watching", folder=keeper.folder.shown, detail=detail))
        self._store.sealer.start()
        own = None if self._store.folder is None else str(self._store.folder.resolve())
        folders = [keeper.folder for keeper in self._keepers]
        full_at = self._timing.clock() + every_s
        stop = self._timing.stop
        for changed in hints(folders, without=own, stop=stop, poll=poll, complain=self._complain):
            due = self._timing.clock() >= full_at
            for keeper in self._keepers:
                if stop.is_set():
                    break
                self._follow(keeper, None if due else changed)
            if due:
                full_at = self._timing.clock() + every_s
            if not stop.is_set():
                idle()
        return self._finished()

    def _follow(self, keeper: Keeper, changed: set[str] | None) -> None:
        scope = None if changed is None else _scope(keeper.folder, changed)
        if scope is None or scope or keeper.due:
            self._patiently(keeper, partial(self._step, keeper, scope))

    def _patiently(self, keeper: Keeper, work: Callable[[], Step]) -> Step:
        """A watch that stays is not ended by another one that is at work on the same folder."""
        while True:
            try:
                return work()
            except (FolderBusy, Overtaken) as error:
                self._say_once("degraded", keeper, "", str(error))

    def _full(self, keeper: Keeper, bars: Bars | None) -> Step:
        step = self._step(keeper, None, bars)
        if step.paused is None and not step.stopped and keeper.folder.marker() is None:
            raise InvalidInput(f"there is no folder {keeper.folder.shown}")
        return step

    def _step(self, keeper: Keeper, scope: set[str] | None, bars: Bars | None = None) -> Step:
        step = keeper.step(scope, bars)
        self._say_pause(keeper, step)
        for happened in telling.happenings(keeper, step):
            self._tell(happened)
        for path, reason in step.quarantined.items():
            self._say_once("quarantined", keeper, path, reason)
        for path, why in step.seen.unreadable.items():
            self._say_once("degraded", keeper, path, f"cannot be read ({why}); what is known of it is kept")
        telling.add(self._report, step)
        self._touched[keeper] |= telling.written_ids(step)
        self._note(keeper, step)
        self._cut = step.stopped
        return step

    def _note(self, keeper: Keeper, step: Step) -> None:
        """Keep what is known of the folder as a whole; a look that was cut short says less than the one before."""
        whole = self._whole.get(keeper)
        if whole is None or (step.scope is None and not step.stopped):
            self._whole[keeper] = step
        elif step.scope is not None and not step.stopped:
            whole.follow(step)

    def _say_pause(self, keeper: Keeper, step: Step) -> None:
        before = self._paused.get(keeper)
        if step.paused is not None and before is None:
            self._paused[keeper] = step.paused
            self._tell(Happened(what="paused", folder=keeper.folder.shown, detail=step.paused))
        elif step.paused is None and before is not None:
            del self._paused[keeper]
            self._tell(Happened(what="resumed", folder=keeper.folder.shown))

    def _say_once(self, what: What, keeper: Keeper, path: str, detail: str) -> None:
        folder = keeper.folder.shown
        if (folder, path, detail) not in self._said:
            self._said.add((folder, path, detail))
            self._tell(Happened(what=what, folder=folder, path=shown(path), detail=detail))

    def _complain(self, detail: str) -> None:
        for keeper in self._keepers:
            self._say_once("degraded", keeper, "", detail)

    def _finished(self) -> WatchReport:
        for keeper, step in self._whole.items():
            step.waiting = keeper.waiting
            telling.describe(self._report, keeper, step, self._touched[keeper])
        stopped = (
            ("stopped before everything was compared; the next run goes on from here",) if self._cut else ()
        )
        degraded = (*self._report.degraded, *self._paused.values(), *stopped)
        return msgspec.structs.replace(self._report, degraded=degraded)


def _scope(folder: Folder, changed: set[str]) -> set[str]:
    """The hints that are of this folder, relative to it; one about an ignore file means all beside it."""
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
