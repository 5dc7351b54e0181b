"""Writers and a reader on a real cluster of three servers that are killed and paused meanwhile; everything is counted.

    python tests/events/packs/cluster_crashes.py --events 100000 [--json FILE]

Two writers append batches of 1, 5 and 20 through mirrors of their own, every seventh batch told by both under the same
ids. A reader on one server follows all the while. Afterwards a fresh replica reads everything, and every event is
compared with what was acknowledged.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(folder) for folder in Path(__file__).parents[:3]]

from log_samples import notes, numbers
from nats_servers import PATIENCE_S, Cluster, running, wait_healthy

from recollect.events.errors import LogFailed
from recollect.events.packs.jetstream import JetStreamPackStore
from recollect.events.packs.pack_log import PackLog

STREAM = "crashes"
BATCHES = (1, 5, 20)
_EACH = 10_000_000


class Writer(threading.Thread):
    """Appends until it is told to stop; `acknowledged` has the seqs of every batch, in doubt are those left out."""

    def __init__(self, log: PackLog, number: int, stop: threading.Event) -> None:
        super().__init__()
        self._log = log
        self._number = number
        self._stopped = stop
        self.acknowledged: dict[int, list[int]] = {}
        self.events = 0
        self.doubts = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            turn = 0
            while not self._stopped.is_set():
                turn += 1
                self._append(turn)
        except BaseException as error:  # noqa: BLE001 (shown by the one who counts)
            self.error = error

    def _append(self, turn: int) -> None:
        size = BATCHES[turn % 3]
        shared = turn % 7 == 0
        first = (0 if shared else self._number * _EACH) + turn * 20
        while True:
            try:
                self.acknowledged[first] = self._log.append(notes(first, size))
            except LogFailed:
                self.doubts += 1
                if self._stopped.is_set():
                    return
                continue
            self.events += 0 if shared and self._number > 1 else size
            return


def connected(cluster: Cluster, only: int | None = None) -> JetStreamPackStore:
    servers = cluster.servers if only is None else [cluster.servers[only]]
    return JetStreamPackStore([server.url for server in servers], STREAM, where=f"{cluster.address}/{STREAM}")


def kill_leader(cluster: Cluster, rng: random.Random) -> None:
    leader = cluster.leader(STREAM)
    leader.kill()
    time.sleep(rng.random())
    leader.start()
    wait_healthy(leader)


def pause_leader(cluster: Cluster, rng: random.Random) -> None:
    leader = cluster.leader(STREAM)
    leader.send(signal.SIGSTOP)
    time.sleep(3 + 3 * rng.random())
    leader.send(signal.SIGCONT)
    wait_healthy(leader)


def kill_all(cluster: Cluster, rng: random.Random) -> None:
    for server in cluster.servers:
        server.kill()
    time.sleep(rng.random())
    for server in cluster.servers:
        server.start()
    cluster.wait_healthy()


FAULTS: tuple[Callable[[Cluster, random.Random], None], ...] = (kill_leader, pause_leader, kill_all)


def crash(folder: Path, *, events: int, seed: int = 7) -> dict[str, int]:
    """Faults one after the other until so many events are acknowledged and each fault happened; then the count."""
    rng, cluster, stop = random.Random(seed), Cluster(folder / "servers"), threading.Event()
    counts: Counter[str] = Counter()
    started = time.monotonic()
    with running(*cluster.servers):
        logs = [PackLog.open(connected(cluster), folder / f"w{n}", patience_s=60) for n in (1, 2)]
        reader = PackLog.open(connected(cluster, only=2), folder / "reader", patience_s=60)
        writers = [Writer(log, n, stop) for n, log in enumerate(logs, 1)]
        following = threading.Thread(target=_follow, args=(reader, stop, counts))
        for thread in (*writers, following):
            thread.start()
        try:
            turn = 0
            while turn < len(FAULTS) or sum(writer.events for writer in writers) < events:
                time.sleep(0.5 + rng.random())
                fault = FAULTS[turn % len(FAULTS)]
                fault(cluster, rng)
                counts[fault.__name__] += 1
                turn += 1
                _await_progress(writers)
                if any(writer.error for writer in writers):
                    break
        finally:
            stop.set()
            for thread in (*writers, following):
                thread.join()
        for writer in writers:
            if writer.error:
                raise writer.error
        with PackLog.open(connected(cluster), folder / "fresh", patience_s=60) as fresh:
            counts.update(_compared(fresh, writers))
            counts["replicas with another chain"] = _others(fresh, [*logs, reader])
        for log in (*logs, reader):
            log.close()
    counts["doubts"] = sum(writer.doubts for writer in writers)
    counts["seconds"] = round(time.monotonic() - started)
    return dict(counts)


def _await_progress(writers: list[Writer]) -> None:
    """Wait until each writer had an acknowledgement again: a cluster that is down all the time shows nothing."""
    before = [len(writer.acknowledged) for writer in writers]
    deadline = time.monotonic() + PATIENCE_S
    while any(len(one.acknowledged) <= had for one, had in zip(writers, before, strict=True)):
        assert time.monotonic() < deadline, "the cluster did not come back"
        if any(writer.error for writer in writers):
            return
        time.sleep(0.1)


def _follow(reader: PackLog, stop: threading.Event, counts: Counter[str]) -> None:
    """A reader on one server sees seqs without gaps, and each event as it was made."""
    seen = 0
    while not stop.is_set():
        try:
            head = reader.refresh()
        except LogFailed:  # its server is down for longer than it is patient
            continue
        events = list(reader.read(seen, head))
        numbers(events)
        counts["gaps seen by the reader"] += [one.seq for one in events] != list(range(seen + 1, head + 1))
        seen = head
        time.sleep(0.05)


def _compared(fresh: PackLog, writers: list[Writer]) -> dict[str, int]:
    found = list(fresh.read())
    at = {recorded.seq: number for recorded, number in zip(found, numbers(found), strict=True)}
    times = Counter(at.values())
    lost = torn = 0
    for writer in writers:
        for first, seqs in writer.acknowledged.items():
            lost += sum(at.get(seq) != first + place for place, seq in enumerate(seqs))
            torn += seqs != list(range(seqs[0], seqs[0] + len(seqs)))
    return {
        "events": len(found),
        "lost": lost,
        "doubled": sum(count - 1 for count in times.values()),
        "torn": torn,
        "findings": len(fresh.verify_chain()),
    }


def _others(fresh: PackLog, logs: list[PackLog]) -> int:
    return sum(
        not (_reaches(log, fresh.head) and log.chain_at(fresh.head) == fresh.chain_at(fresh.head))
        for log in logs
    )


def _reaches(log: PackLog, head: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while log.refresh() < head and time.monotonic() < deadline:
        time.sleep(0.05)
    return log.head >= head


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = crash(Path(folder), events=given.events)
    print(json.dumps(counts, indent=1))
    if given.json:
        given.json.write_text(json.dumps(counts, indent=1))
    return int(any(counts[name] for name in WRONG))


WRONG = ("lost", "doubled", "torn", "findings", "gaps seen by the reader", "replicas with another chain")

if __name__ == "__main__":
    sys.exit(main())
