"""Random histories of a log against a plain list."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from log_samples import StepClock, note, numbers
from simulated_disk import SimulatedDisk

from recollect.events.errors import HeadMoved
from recollect.events.facts import Redacted
from recollect.events.log import Durability
from recollect.events.memory_log import MemoryLog
from recollect.events.segment_log import SegmentLog

PATH = Path("/log")
durabilities: st.SearchStrategy[Durability] = st.sampled_from(["durable", "group", "unsafe"])


class LogModel(RuleBasedStateMachine):
    """A log on a disk, the log in memory, and a list of the numbers of the notes they hold."""

    @initialize(segment_bytes=st.sampled_from([1, 700, 5_000]))
    def start(self, segment_bytes: int) -> None:
        self.segment_bytes = segment_bytes
        self.disk = SimulatedDisk()
        self.clock = StepClock()
        self.memory = MemoryLog(StepClock())
        self.model: list[int] = []
        self.erased: set[int] = set()
        self.log = self.opened()

    def opened(self) -> SegmentLog:
        return SegmentLog.open(
            PATH, disk=self.disk, clock=self.clock, segment_bytes=self.segment_bytes, group_ms=0.0
        )

    @rule(batch=st.lists(st.integers(0, 60), unique=True, max_size=6), durability=durabilities)
    def append(self, batch: list[int], durability: Durability) -> None:
        drafts = [note(number) for number in batch]
        seqs = self.log.append(drafts, durability=durability)
        self.model += [number for number in batch if number not in self.model]
        assert seqs == [self.model.index(number) + 1 for number in batch]
        assert seqs == self.memory.append(drafts, durability=durability)

    @rule(number=st.integers(61, 99), expect=st.integers(0, 20))
    def append_expecting(self, number: int, expect: int) -> None:
        fits = number in self.model or expect == len(self.model)
        for log in (self.log, self.memory):
            if fits:
                log.append([note(number)], expect=expect)
            else:
                with pytest.raises(HeadMoved, match=f"it is at @{len(self.model)}"):
                    log.append([note(number)], expect=expect)
        if fits and number not in self.model:
            self.model.append(number)

    @rule(data=st.data())
    def erase(self, data: st.DataObject) -> None:
        if self.model:
            seq = data.draw(st.integers(1, len(self.model)))
            self.log.erase([seq])
            self.memory.erase([seq])
            self.erased.add(seq)

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self.log = self.opened()

    @rule()
    def open_beside(self) -> None:
        """As another process would, while the first goes on."""
        self.log = self.opened()

    @invariant()
    def all_agree(self) -> None:
        for log in (self.log, self.memory):
            events = list(log.read())
            assert [recorded.seq for recorded in events] == list(range(1, len(self.model) + 1))
            redacted = {recorded.seq for recorded in events if isinstance(recorded.fact, Redacted)}
            assert redacted == self.erased
            kept = [recorded for recorded in events if recorded.seq not in redacted]
            assert numbers(kept) == [n for seq, n in enumerate(self.model, 1) if seq not in redacted]

    def teardown(self) -> None:
        assert self.log.verify_chain() == []


TestLogModel = LogModel.TestCase
TestLogModel.settings = settings(max_examples=60, stateful_step_count=25)
