"""The log alone, ours and that of the `eventsourcing` library on SQLite: the same payloads appended and read.

A batch is durable when its append returns, in both (SQLite in WAL mode with full synchronisation).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import peers
from corpus import Corpus
from stores import facts_of
from timing import seconds_of

from recollect.events.envelope import draft, encode
from recollect.events.facts import AnyFact
from recollect.events.segment_log import SegmentLog

BATCH = 1_000
SINGLES = 200

Found = dict[str, float | str]


class EventLog(Protocol):
    def append(self, first: int, count: int) -> None: ...
    def read(self) -> int: ...


class Ours:
    def __init__(self, folder: Path, facts: Sequence[AnyFact]) -> None:
        self._log = SegmentLog.open(folder / "ours")
        self._facts = facts

    def append(self, first: int, count: int) -> None:
        self._log.append([draft(fact) for fact in self._facts[first : first + count]])

    def read(self) -> int:
        return sum(len(recorded.payload) > 0 for recorded in self._log.read(0, self._log.head))


class Theirs:
    """Every event belongs to one aggregate of its own, as every memory is."""

    def __init__(self, folder: Path, facts: Sequence[AnyFact]) -> None:
        from eventsourcing.persistence import StoredEvent  # noqa: PLC0415 - a peer may be missing
        from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore  # noqa: PLC0415

        self._recorder = SQLiteApplicationRecorder(SQLiteDatastore(str(folder / "events.db")))
        self._recorder.create_table()
        self._events = [StoredEvent(uuid4(), 1, "memory.ingested", encode(fact)) for fact in facts]

    def append(self, first: int, count: int) -> None:
        self._recorder.insert_events(self._events[first : first + count])

    def read(self) -> int:
        seen = 0
        while page := self._recorder.select_notifications(seen + 1, BATCH):
            seen += len(page)
        return seen


def measure(folder: Path, *, events: int) -> dict[str, Found]:
    """Both logs, taking turns."""
    facts = [fact for block in Corpus(events).blocks() for fact in facts_of(block, 0)]
    found: dict[str, Found] = {"Recollect": {}, "eventsourcing on SQLite": {}}
    logs: dict[str, EventLog] = {"Recollect": Ours(folder, facts)}
    try:
        logs["eventsourcing on SQLite"] = Theirs(folder, facts)
    except ImportError as error:
        found["eventsourcing on SQLite"] = {"missing": peers.Missing(f"not installed: {error}").reason}
    payload = sum(len(encode(fact)) for fact in facts) / len(facts)
    for name, rates in _rates(logs, len(facts)).items():
        found[name] = {**rates, "payload_bytes": payload}
    return found


def _rates(logs: Mapping[str, EventLog], events: int) -> dict[str, Found]:
    """Batch by batch in turn, then one event at a time in turn, then everything read."""
    batched = events - SINGLES
    seconds = {name: {"batches": 0.0, "singles": 0.0, "read": 0.0} for name in logs}
    for first in range(0, batched, BATCH):
        for name, log in logs.items():
            work = partial(log.append, first, min(BATCH, batched - first))
            seconds[name]["batches"] += seconds_of(work)
    for first in range(batched, events):
        for name, log in logs.items():
            seconds[name]["singles"] += seconds_of(partial(log.append, first, 1))
    for name, log in logs.items():
        begun = time.perf_counter()
        read = log.read()
        seconds[name]["read"] = time.perf_counter() - begun
        assert read == events, f"{name} gave {read} of {events} events"
    return {
        name: {
            "append_batched_per_s": batched / spent["batches"],
            "append_single_durable_ms": spent["singles"] / SINGLES * 1e3,
            "read_per_s": events / spent["read"],
        }
        for name, spent in seconds.items()
    }
