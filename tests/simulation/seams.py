"""The simulated machine in the place of the real one, for the threads of simulated processes alone.

Time, randomness and cache files are reached through the standard library, so that is where they are replaced: a
call from any other thread goes to the real function. The log gets its disk where it would make a `RealDisk`.
"""

from __future__ import annotations

import builtins
import io
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from recollect.events.disk import RealDisk
from recollect.events.segment_log import SegmentLog
from recollect.projections.vectors.sealing import Sealer
from recollect.projections.vectors.shards import Shard
from recollect.query import ranking

from .machine import Incarnation, Machine

Acknowledge = Callable[[SegmentLog, Any, list[int], str], None]
_ON_PATHS = ("unlink", "remove", "replace", "rename", "mkdir", "rmdir", "open", "truncate")
_ON_DESCRIPTORS = ("fsync", "fdatasync", "write", "pwrite", "ftruncate")


@contextmanager
def installed(
    machine: Machine, incarnation: Callable[[], Incarnation | None], acknowledge: Acknowledge
) -> Iterator[None]:
    """`incarnation` gives the process that the calling thread plays, None for other threads."""
    with ExitStack() as stack:
        for replace in (_clocks, _randomness, _cache_files, _background, _log):
            for target, name, value in replace(machine, incarnation, acknowledge):
                stack.enter_context(patch.object(target, name, value))
        yield


Replacement = tuple[Any, str, Any]


def _clocks(machine: Machine, incarnation: Any, acknowledge: Any) -> Iterator[Replacement]:
    scheduler = machine.scheduler

    def simulated(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: ours(*args) if scheduler.simulates_this_thread() else real(*args)

    yield time, "sleep", simulated(time.sleep, scheduler.sleep)
    yield time, "monotonic", simulated(time.monotonic, lambda: scheduler.now_s)
    yield time, "time", simulated(time.time, lambda: scheduler.now_s)
    yield time, "time_ns", simulated(time.time_ns, lambda: int(scheduler.now_s * 1e9))


def _randomness(machine: Machine, incarnation: Any, acknowledge: Any) -> Iterator[Replacement]:
    ours = Random(machine.scheduler.rng.random())
    here = machine.scheduler.simulates_this_thread
    real_bytes, real_float = os.urandom, random.random
    yield os, "urandom", lambda size: ours.randbytes(size) if here() else real_bytes(size)
    yield random, "random", lambda: ours.random() if here() else real_float()


def _cache_files(
    machine: Machine, incarnation: Callable[[], Incarnation | None], acknowledge: Any
) -> Iterator[Replacement]:
    root = str(machine.folder)

    def step(label: str) -> None:
        process = incarnation()
        if process is not None:
            process.check(label)

    def on_path(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **options: Any) -> Any:
            if isinstance(path, str | Path) and str(path).startswith(root) and incarnation() is not None:
                step(f"{name} {Path(path).suffix or Path(path).name}")
                if name in ("unlink", "remove"):
                    machine.deleting(Path(path))
            return real(path, *args, **options)

        return call

    def on_descriptor(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            step(name)
            return real(*args)

        return call

    def open_(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        if not (isinstance(file, str | Path) and str(file).startswith(root)) or incarnation() is None:
            return real_open(file, mode, *args, **options)
        step(f"open {mode} {Path(file).suffix}")
        opened = real_open(file, mode, *args, **options)
        return opened if "r" in mode and "+" not in mode else FailingFile(opened, incarnation)

    def save(shard: Shard, path: Path) -> None:
        """C++ streams do not tell that the disk was full: the file is just too short."""
        process = incarnation()
        error = process.step("save .hnsw") if process is not None else 0
        real_save(shard, path)
        if error:
            os.truncate(path, path.stat().st_size // 2)

    real_open, real_save = io.open, Shard.save
    for name in _ON_PATHS:
        yield os, name, on_path(name, getattr(os, name))
    for name in _ON_DESCRIPTORS:
        yield os, name, on_descriptor(name, getattr(os, name))
    yield io, "open", open_
    yield builtins, "open", open_
    yield Shard, "save", save


class FailingFile:
    """A cache file that is being written; a write may come out short and fail."""

    def __init__(self, file: Any, incarnation: Callable[[], Incarnation | None]) -> None:
        self._file = file
        self._incarnation = incarnation

    def write(self, data: Any) -> int:
        process = self._incarnation()
        error = process.step("write cache") if process is not None else 0
        if error:
            self._file.write(memoryview(data)[: len(data) // 2])
            raise OSError(error, os.strerror(error))
        return int(self._file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> FailingFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


def _background(machine: Machine, incarnation: Any, acknowledge: Any) -> Iterator[Replacement]:
    """What other threads would do beside a process is done by its own steps, or not at all."""
    yield Sealer, "start", lambda self: None
    if hasattr(ranking, "start_prefetch"):
        yield ranking, "start_prefetch", lambda ctx, stages: None


def _log(machine: Machine, incarnation: Any, acknowledge: Acknowledge) -> Iterator[Replacement]:
    def disk() -> Any:
        process = incarnation()
        return RealDisk() if process is None else process

    real_append = SegmentLog.append

    def append(log: SegmentLog, drafts: Any, *args: Any, **options: Any) -> list[int]:
        seqs = real_append(log, drafts, *args, **options)
        acknowledge(log, drafts, seqs, str(options.get("durability", "durable")))
        return seqs

    for module in [module for name, module in sorted(sys.modules.items()) if name.startswith("recollect")]:
        if getattr(module, "RealDisk", None) is RealDisk and module.__name__ != "recollect.events.disk":
            yield module, "RealDisk", disk
    yield SegmentLog, "append", append
