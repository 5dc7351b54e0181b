"""The machine under the simulated processes: one disk for the log, one real folder for the caches, and its accidents.

A process that crashes stops at a file operation and does nothing more: whatever its unwinding stack still calls has
no effect. Its locks are gone, the page cache stays. A power cut stops all processes and takes unsynced bytes of the
log (`SimulatedDisk.crash`); of the caches it may take any file, and bring back those that were just deleted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.simulated_disk import PowerCut, SimulatedDisk

from .scheduler import Scheduler

Kind = str  # "crash", "power", or the name of an errno
ERRORS = ("EIO", "ENOSPC", "EROFS", "EDQUOT")
_FAILING = {
    "open", "create", "open_directory", "read", "write", "size", "truncate", "sync", "rename", "remove", "names",
    "make_directories",
}  # fmt: skip
_READING = ("read", "size", "names", "open_directory", "open r")
_OPENING = {"open", "create", "open_directory"}


class Stopped(PowerCut):
    """This process exists no more."""


class Accident(NamedTuple):
    """The `countdown`-th file operation from now goes wrong."""

    countdown: int
    kind: Kind


class Machine:
    def __init__(self, scheduler: Scheduler, folder: Path, rng: Random) -> None:
        self.scheduler = scheduler
        self.folder = folder
        self.disk = SimulatedDisk()
        self.disk.make_directories(folder)
        self.lost_power = False
        self._rng = rng
        self._deleted: dict[Path, bytes] = {}

    def power_cut(self) -> None:
        self.lost_power = True

    def boot(self) -> None:
        """Start again after a power cut."""
        if not self.lost_power:
            return
        self.disk = self.disk.crash(self._rng)
        self.lost_power = False
        cache = self.folder / "cache"
        for path in sorted(path for path in cache.rglob("*") if path.is_file()):
            fate = self._rng.random()
            if path.suffix in (".tmp", ".building") and fate < 0.5:
                os.truncate(path, path.stat().st_size // 2)
            elif fate < 0.2:
                path.unlink()
        for path, content in sorted(self._deleted.items()):
            if self._rng.random() < 0.5 and path.parent.is_dir():
                path.write_bytes(content)
        self._deleted.clear()

    def deleting(self, path: Path) -> None:
        """A cache file is about to be deleted: the directory is not synced, so a power cut may bring it back."""
        if path.suffix in (".checkpoint", ".hnsw") and path.is_file():
            self._deleted[path] = path.read_bytes()

    def write_out(self) -> None:
        """Put the log where real commands find it."""
        for path, content in self.disk.files().items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_bytes(content)


class Incarnation:
    """One life of a process, from opening the store to its end: `Disk` for its log, and a gate for its cache files."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._descriptors: set[int] = set()
        self._accident: Accident | None = None
        self.dead = False
        self.happened: str | None = None

    # --- accidents -------------------------------------------------------------------------------

    def plan(self, accident: Accident | None) -> None:
        self._accident, self.happened = accident, None

    def call_off(self) -> None:
        """Nothing goes wrong until the next plan; what happened stays known."""
        self._accident = None

    def step(self, label: str, *, fails: bool = True) -> int:
        """One file operation: the turn may pass here; returns the errno that it must fail with, or 0."""
        machine = self._machine
        if machine.scheduler.is_quiet:
            if self.dead:
                raise Stopped
            return 0
        if not self.dead:
            machine.scheduler.point(label)
        if self.dead or machine.lost_power:
            self.die()
            raise Stopped
        if self._accident is None or not fails:
            return 0
        if self._accident.kind in ERRORS[1:] and label.startswith(_READING):
            return 0
        self._accident = self._accident._replace(countdown=self._accident.countdown - 1)
        return 0 if self._accident.countdown else self._strike(label)

    def _strike(self, label: str) -> int:
        assert self._accident is not None
        kind, self._accident = self._accident.kind, None
        self.happened = f"{kind} at {label}"
        self._machine.scheduler.recent.append(("---", self.happened))
        if kind == "power":
            self._machine.power_cut()
        if kind in ("power", "crash"):
            self.die()
            raise Stopped
        return int(getattr(errno, kind))

    def check(self, label: str) -> None:
        if error := self.step(label):
            raise OSError(error, os.strerror(error))

    def die(self) -> None:
        """The kernel closes the files of a process that is gone, and with them its locks."""
        self.dead = True
        for descriptor in self._descriptors:
            self._machine.disk.close(descriptor)
        self._descriptors.clear()

    # --- Disk ------------------------------------------------------------------------------------

    def close(self, descriptor: int) -> None:
        if not self.dead:
            self._descriptors.discard(descriptor)
            self._machine.disk.close(descriptor)

    def unlock(self, descriptor: int) -> None:
        if not self.dead:
            self._machine.disk.unlock(descriptor)

    def write(self, descriptor: int, data: bytes, offset: int) -> None:
        error = self.step("write")
        if error:
            self._machine.disk.write(descriptor, data[: len(data) // 2], offset)
            raise OSError(error, os.strerror(error))
        self._machine.disk.write(descriptor, data, offset)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Every other operation of the disk: a step, then the operation."""
        if name.startswith("_"):
            raise AttributeError(name)

        def operate(*args: Any, **options: Any) -> Any:
            about = f" {args[0].name}" if args and isinstance(args[0], Path) else ""
            error = self.step(name + about, fails=name in _FAILING)
            if error:
                raise OSError(error, os.strerror(error))
            result = getattr(self._machine.disk, name)(*args, **options)
            if name in _OPENING:
                self._descriptors.add(result)
            return result

        return operate
