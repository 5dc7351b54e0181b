"""Watching folders: what `Memory.watch` sets up; the work is in `folders`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypedDict

from recollect.dream.schedule import parse_interval
from recollect.engine import validate
from recollect.engine.dream_schedule import Dreamer, Dreams, schedule_of
from recollect.engine.recall_options import refuse_unknown
from recollect.engine.vector_backfill import Fillable, VectorBackfill
from recollect.engine.writer import Writer
from recollect.events.errors import RecollectError
from recollect.interfaces.folders.folder import folders_of
from recollect.interfaces.folders.folder_sync import Bars, Settings
from recollect.interfaces.folders.reading import Timing
from recollect.interfaces.folders.report import Happened, WatchReport
from recollect.interfaces.folders.rules import MAX_BYTES, spec_of
from recollect.interfaces.folders.watcher import Watcher

_SECONDS_MAX = 1e9
_BYTES_MAX = 1_000_000_000

Tell = Callable[[Happened], None]


class Keeper(Dreamer, Fillable, Protocol):
    """The part of an open memory that is needed between two scans of the folders."""


class WatchOptions(TypedDict, total=False):
    """How `Memory.watch` looks at folders.

    once         make the store equal to the folders and return
    every        compare the whole of each folder every so many seconds (300)
    grace        treat a file as deleted when it has been gone for so many seconds (2)
    ignore       patterns of files to leave out, written as in .gitignore
    max_bytes    leave out larger files
    project      the project that the memories belong to
    dream_every  dream at this interval (`1d`)
    poll         do not ask the file system for changes
    accept_root  take a folder that replaced the watched one
    tell         is called with everything that happens
    stop         ends the watching when set
    bars         show progress
    timing       the clock and the pauses
    """

    once: bool
    every: float
    grace: float
    ignore: Iterable[str]
    max_bytes: int | None
    project: str | None
    dream_every: str | None
    poll: bool
    accept_root: bool
    tell: Tell | None
    stop: threading.Event | None
    bars: Bars | None
    timing: Timing | None


def watch(
    writer: Writer, memory: Keeper, paths: str | Path | Iterable[str | Path], options: WatchOptions
) -> WatchReport:
    """Check the arguments, and keep the store equal to the folders."""
    refuse_unknown(options, WatchOptions.__annotations__)
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    settings = _settings(options)
    every_s = validate.number(options.get("every", 300.0), "every", low=1.0, high=_SECONDS_MAX)
    grace_s = validate.number(options.get("grace", 2.0), "grace", low=0.0, high=_SECONDS_MAX)
    tell, bars = options.get("tell"), options.get("bars")
    dreams, backfill = _dreams_when_due(memory, options.get("dream_every"), tell), VectorBackfill(memory)

    def idle() -> None:
        dreams()
        backfill.look()

    folders = folders_of(given, store=writer.store.folder)
    timing = options.get("timing") or Timing(grace_s=grace_s, stop=options.get("stop") or threading.Event())
    watcher = Watcher(folders, writer, settings, timing, tell=tell)
    if options.get("once"):
        report = watcher.once(bars)
        backfill.look()
        return report
    writer.store.checkpointer.start()
    return watcher.run(every_s=every_s, poll=options.get("poll", False), idle=idle, bars=bars)


def _settings(options: WatchOptions) -> Settings:
    patterns = tuple(validate.text(pattern, "ignore") for pattern in options.get("ignore", ()))
    spec_of(patterns)
    given = options.get("max_bytes")
    max_bytes = MAX_BYTES if given is None else given
    return Settings(
        ignore=patterns,
        max_bytes=validate.whole(max_bytes, "max_bytes", low=1, high=_BYTES_MAX),
        project=validate.optional_identifier(options.get("project"), "project"),
        accept_root=options.get("accept_root", False),
    )


def _dreams_when_due(dreamer: Dreamer, every: str | None, tell: Tell | None) -> Callable[[], None]:
    """Dream between two scans of the folders, when it is due."""
    if every is None:
        return lambda: None

    def failed(error: RecollectError | None) -> None:
        if error is not None and tell is not None:
            tell(Happened(what="degraded", folder="", detail=f"a dream failed: {error}"))

    def idle() -> None:
        report = dreams.look()
        if report is not None and tell is not None:
            tell(Happened(what="dreamed", folder="", detail=report.id))

    dreams = Dreams(dreamer, schedule_of(parse_interval(every)), failed)
    return idle
