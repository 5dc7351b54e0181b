"""bisect over a million events: how long the search for the event that moved a memory takes.

A log of 1,000,000 events: 100,000 memories of 384 dimensions among 900,000 accesses, and one rival, somewhere,
that takes the first place of a question. Words and vectors are both searched. Nothing is sealed (`--seal` builds
the indexes first), so every ranking scans the vectors exactly: the slow case. Must: <= 1 s.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from zlib import crc32

import numpy as np

from recollect.engine.store import Store
from recollect.events.envelope import draft
from recollect.events.facts import Accessed, AnyFact, Ingested
from recollect.events.grid import quantize, to_bytes
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory

DIMENSIONS = 384
START_US = 1_700_000_000_000_000
WORDS = 20_000
QUERY = "w7 w70 w700"
MUST_S = 1.0


class Embedder:
    """The vector of a text: a direction drawn from its words' digest."""

    name = "bench/random"
    dimensions = DIMENSIONS
    ready = True

    def warm(self) -> None:
        """Nothing to load."""

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.stack(
            [np.random.default_rng(crc32(text.encode())).normal(size=DIMENSIONS) for text in texts]
        )


def fill(folder: Path, memories: int, events: int) -> int:
    """Write the log; returns the seq of the rival."""
    with Memory.open(folder, embedder=Embedder()) as memory:
        memory.remember(f"{QUERY} target", id="target")
    near = to_bytes(quantize(Embedder().embed([QUERY])[0]))
    rng = np.random.default_rng(7)
    log = SegmentLog.open(folder / "log")
    rival, batch = events * 2 // 3, list[AnyFact]()
    made = 0
    while log.head + len(batch) < events:
        seq = log.head + len(batch) + 1
        if seq == rival:
            batch.append(
                Ingested(id="rival", content=QUERY, at=START_US, vector=near, embedder=Embedder.name)
            )
        elif made < memories and seq * memories // events >= made:
            words = " ".join(f"w{n}" for n in rng.integers(WORDS, size=12))
            vector = rng.integers(-200, 200, size=DIMENSIONS).astype("<i2").tobytes()
            batch.append(
                Ingested(id=f"m{made}", content=words, at=START_US, vector=vector, embedder=Embedder.name)
            )
            made += 1
        else:
            batch.append(Accessed(ids=(f"m{rng.integers(max(made, 1))}",), at=START_US))
        if len(batch) == 5_000:
            log.append([draft(fact) for fact in batch], durability="unsafe")
            batch = []
    log.append([draft(fact) for fact in batch])
    log.close()
    return rival


def seal(folder: Path) -> None:
    store = Store.open(folder)
    while store.sealer.step() is not None:
        pass
    store.close()


def measure(*, memories: int, events: int, sealed: bool = False) -> dict[str, float | str | bool]:
    """Write the log, open it, and look for the rival three times; the best time counts."""
    with tempfile.TemporaryDirectory() as folder:
        rival = fill(Path(folder), memories, events)
        if sealed:
            seal(Path(folder))
        with Memory.open(folder, embedder=Embedder()) as memory:
            memory.recall(QUERY, record=False)
            times = []
            for _ in range(3):
                begun = time.perf_counter()
                found = memory.bisect(QUERY, "target", until_rank=1)
                times.append(time.perf_counter() - begun)
            assert found.seq == rival, (found.seq, rival)
            begun = time.perf_counter()
            change = memory.why_changed(QUERY, "target", since=rival - 1000, until=rival + 1000)
            explained = time.perf_counter() - begun
    return {
        "events": events,
        "memories": memories,
        "sealed": sealed,
        "rankings": found.rankings,
        "bisect_s": round(min(times), 3),
        "must_s": MUST_S,
        "met": min(times) <= MUST_S,
        "why_changed_s": round(explained, 3),
        "why_changed_cause": change.cause,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seal", action="store_true")
    arguments = parser.parse_args()
    result = measure(memories=arguments.memories, events=arguments.events, sealed=arguments.seal)
    print(json.dumps(result, indent=2))
    sys.exit(0 if result["met"] else 1)


if __name__ == "__main__":
    main()
