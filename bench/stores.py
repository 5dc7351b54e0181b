"""Stores to measure: a corpus appended, folded and sealed, made once and found again.

A store is finished when `bench.json` lies in it, with the rates of its making. Where the folder is kept from run
to run (`--stores`), a million memories are sealed once. A measurement that writes works on a copy.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from corpus import DIMENSIONS, Block, Corpus

from recollect.engine.embedding.embedder import PROBE_TEXT
from recollect.engine.store import Store
from recollect.events.envelope import draft
from recollect.events.facts import AnyFact, EmbedderAdopted, Ingested
from recollect.events.grid import from_bytes, to_bytes
from recollect.events.segment_log import SegmentLog
from recollect.query.formula import built_in

EMBEDDER = "bench/clustered"
START_US = 1_700_000_000_000_000
STEP_US = 1_000_000
SESSIONS_EVERY = 100
FORMULAS = ("reverie", "recollect")

Rates = dict[str, float]


def now_us(size: int) -> int:
    """The clock of every question: after the last memory."""
    return START_US + 2 * size * STEP_US


class Given:
    """An embedder that knows its vectors already: what is measured is the engine."""

    name = EMBEDDER
    dimensions = DIMENSIONS
    ready = True

    def __init__(self, folder: Path) -> None:
        """The embedder of the store in `folder`, whose first event says what it makes of the probe text."""
        log = SegmentLog.open(folder / "log")
        adopted = log.get(1).fact
        log.close()
        assert isinstance(adopted, EmbedderAdopted)
        self.vectors: dict[str, npt.NDArray[np.generic]] = {PROBE_TEXT: from_bytes(adopted.probe)}

    def warm(self) -> None:
        """Nothing to load."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self.vectors[text] for text in texts]).astype(np.float32)


def facts_of(block: Block, first: int) -> list[AnyFact]:
    """A hundred neighbours share a session, as the turns of a conversation do."""
    return [
        Ingested(
            id=f"m{first + n:08d}",
            content=text,
            vector=to_bytes(point),
            embedder=EMBEDDER,
            at=START_US + (first + n) * STEP_US,
            session=f"s{(first + n) // SESSIONS_EVERY}",
        )
        for n, (text, point) in enumerate(zip(block.texts, block.points, strict=True))
    ]


def fill(folder: Path, corpus: Corpus) -> float:
    """Append the corpus in durable batches of 1,000; events per second of the appends alone."""
    log = SegmentLog.open(folder / "log")
    spent, first = 0.0, 0
    for block in corpus.blocks():
        if first == 0:
            log.append([draft(adoption(block))])
        drafts = [draft(fact) for fact in facts_of(block, first)]
        begun = time.perf_counter()
        log.append(drafts)
        spent += time.perf_counter() - begun
        first += len(drafts)
    log.close()
    return corpus.size / spent


def adoption(block: Block) -> EmbedderAdopted:
    """The first event of a store; its probe is the vector of the first memory."""
    return EmbedderAdopted(name=EMBEDDER, dimensions=DIMENSIONS, probe=to_bytes(block.points[0]))


def analyzers() -> tuple[str, ...]:
    """The lexical indexes that the measured formulas read."""
    return tuple(dict.fromkeys(name for formula in FORMULAS for name in built_in(formula).analyzers))


def seal(store: Store, *, quiet: bool = False) -> float:
    """Build every shard that is due; seconds."""
    begun = time.perf_counter()
    while (fact := store.sealer.step()) is not None:
        done = time.perf_counter() - begun
        if not quiet:
            print(f"  sealed {fact.count:,} vectors, {done:,.0f} s so far", file=sys.stderr, flush=True)
    return time.perf_counter() - begun


def made(folder: Path, corpus: Corpus) -> Rates:
    """Make the store, or find it as it was made: the rates of its making."""
    notes = folder / "bench.json"
    if notes.is_file():
        return dict(json.loads(notes.read_text("utf-8")))
    shutil.rmtree(folder, ignore_errors=True)
    rates: Rates = {"append_batched_per_s": fill(folder, corpus)}
    begun = started = time.perf_counter()
    store = Store.open(folder, analyzers=built_in("reverie").analyzers)
    rates["rebuild_events_per_s"] = store.log.head / (time.perf_counter() - begun)
    for name in FORMULAS:
        store.require_analyzers(built_in(name).analyzers)
    rates["hnsw_build_s"] = seal(store)
    rates["shards"] = float(len(store.projections.vectors.shards_at(store.log.head)))
    store.checkpoint()
    store.close()
    rates["build_s"] = corpus.size / rates["append_batched_per_s"] + time.perf_counter() - started
    notes.write_text(json.dumps(rates, indent=2), "utf-8")
    return rates


def grown(folder: Path, corpus: Corpus, *, block: int = 4_096) -> Path:
    """A store that lived: the sealer was at work while the memories came in."""
    if (folder / "bench.json").is_file():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    store = Store.open(folder, analyzers=built_in("reverie").analyzers)
    waiting: list[AnyFact] = []
    first = 0
    for part in corpus.blocks():
        if first == 0:
            store.append([adoption(part)])
        waiting += facts_of(part, first)
        first += len(part.texts)
        if len(waiting) >= block or first == corpus.size:
            store.append(waiting)
            store.catch_up()
            waiting = []
            seal(store, quiet=True)
    store.checkpoint()
    store.close()
    (folder / "bench.json").write_text("{}", "utf-8")
    return folder


def copied(folder: Path, to: Path) -> Path:
    """A copy that a measurement may write to."""
    shutil.copytree(folder, to)
    return to


if __name__ == "__main__":
    root, size = Path(sys.argv[1]), int(sys.argv[2])
    print(json.dumps(made(root / str(size), Corpus(size)), indent=2))
