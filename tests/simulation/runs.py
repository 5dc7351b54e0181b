"""One seed, one run: processes live on a machine, accidents happen, and the judge looks at what is left."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from recollect.engine import reembed as reembedding
from recollect.events.envelope import Draft, encode
from recollect.events.facts import Redacted
from recollect.events.segment_log import SegmentLog
from recollect.projections.vectors import sealing

from . import judge, seams
from .machine import Incarnation, Machine
from .process import Process
from .scheduler import PATIENCE_S, Scheduler
from .world import BUILDER, POLICY, REEMBED_BATCH, SEGMENT_BYTES, Acknowledged, World

_ROOT = next((path for path in ("/dev/shm",) if Path(path).is_dir()), None)


@dataclass
class Outcome:
    seed: int
    findings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    digest: int = 0
    steps: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"seed {self.seed}:", *(f"  {finding}" for finding in self.findings)]
        lines += ["  the last steps:", *(f"    {step}" for step in self.steps)]
        return "\n".join([*lines, f"repeat it: python -m tests.simulation --seed {self.seed}"])


class Run:
    def __init__(self, seed: int, folder: Path) -> None:
        rng = Random(seed)
        self.seed = seed
        self.calm = rng.random() < 0.2  # no accident at all: nothing may be refused
        self.scheduler = Scheduler(rng, switch_share=rng.choice((0.02, 0.1, 0.3)))
        self.machine = Machine(self.scheduler, folder, rng)
        self.world = World(rng, str(folder))
        names = "ABCD"[: rng.choice((2, 2, 3, 3, 4))]
        self.processes = [Process(name, self.machine, self.world, calm=self.calm) for name in names]
        self._steps = rng.choice((4, 7, 10))

    def incarnation(self) -> Incarnation | None:
        task = self.scheduler.current_name()
        return next((one.incarnation for one in self.processes if one.name == task), None)

    def acknowledge(self, log: SegmentLog, drafts: Any, seqs: list[int], durability: str) -> None:
        """`append` has returned: from here on these events are there."""
        if not self.scheduler.simulates_this_thread():
            return
        with self.scheduler.quietly():
            for place, seq in enumerate(seqs):
                recorded = log.get(seq)
                asked = drafts[place] if len(drafts) == len(seqs) else None
                payload = recorded.payload
                if isinstance(asked, Draft) and not isinstance(recorded.fact, Redacted):
                    payload = encode(asked.fact)
                self.world.acknowledged[seq] = Acknowledged(
                    seq, recorded.id, recorded.type, payload, durability != "unsafe"
                )

    def live(self) -> None:
        self.scheduler.run({"A": self.processes[0].found_the_store})
        for _ in range(4):
            self.scheduler.run({one.name: lambda one=one: one.live(self._steps) for one in self.processes})
            if not self.machine.lost_power:
                return
            self.world.counts["power cuts"] += 1
            self.machine.boot()
            self.world.power_was_cut()
            for process in self.processes:
                process.incarnation = process.memory = None

    def judge(self) -> None:
        """The processes that are alive, one by one; then what a new one finds, and what is on disk."""
        open_ = [one for one in self.processes if one.memory is not None]
        for process in open_:
            self._guarded(f"process {process.name}", lambda p=process: self._as(p, p.catch_up))
        self._guarded("the view of a process", lambda: self._compare(open_))
        for process in open_:
            self._guarded(f"closing {process.name}", lambda p=process: self._as(p, p.close))
        newcomer = Process("N", self.machine, self.world, calm=True)
        self.processes.append(newcomer)
        self._guarded("a new process", lambda: self._as(newcomer, newcomer.open))
        self._guarded("the log", lambda: self._compare([newcomer], judge.judge_log))
        if newcomer.memory is not None:
            self._guarded("closing the new process", lambda: self._as(newcomer, newcomer.save_and_close))
        self._guarded("erased bytes", lambda: judge.judge_bytes(self.world, self.machine))
        self._guarded("doctor", lambda: judge.judge_doctor(self.world, self.machine))

    def _as(self, process: Process, work: Callable[[], None]) -> None:
        """Do this in the process's own thread, alone."""
        self.scheduler.run({process.name: work})

    def _compare(self, processes: list[Process], also: Any = None) -> None:
        """Each of these views with one fold of the log."""
        analyzers = {
            name for one in processes if one.memory for name in one.memory.store.projections.lexicals
        }
        with judge.fresh(self.machine, sorted(analyzers)) as store:
            for one in processes:
                if one.memory is not None:
                    judge.compare_stores(self.world, one.memory.store, store, f"process {one.name}")
            if also is not None:
                also(self.world, store)

    def _guarded(self, what: str, check: Any) -> None:
        try:
            check()
        except Exception as error:  # noqa: BLE001 (a judge that cannot judge has found something)
            self.world.finding(f"{what}: {type(error).__name__}: {error}"[:400])

    def outcome(self) -> Outcome:
        return Outcome(
            self.seed,
            self.world.findings,
            dict(self.world.counts),
            self.scheduler.digest,
            [f"{who:3s} {what}" for who, what in self.scheduler.recent],
        )


def run(seed: int) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix=f"recollect-{seed}-", dir=_ROOT))
    try:
        with ExitStack() as stack:
            stack.enter_context(patch.object(logging.getLogger("recollect"), "disabled", True))
            one = Run(seed, folder / "store")
            (folder / "store").mkdir(mode=0o700)
            stack.enter_context(patch.object(sealing, "USUAL", POLICY))
            stack.enter_context(patch.object(sealing, "Builder", lambda: BUILDER))
            stack.enter_context(patch.object(reembedding, "_BATCH", REEMBED_BATCH, create=True))
            defaults = SegmentLog.open.__func__.__kwdefaults__  # type: ignore[attr-defined]
            stack.enter_context(patch.dict(defaults, segment_bytes=SEGMENT_BYTES, lock_timeout_s=PATIENCE_S))
            stack.enter_context(seams.installed(one.machine, one.incarnation, one.acknowledge))
            one.live()
            steps = list(one.scheduler.recent)
            one.judge()
            one.scheduler.recent.clear()
            one.scheduler.recent.extend(steps)
            return one.outcome()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
