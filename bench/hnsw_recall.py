"""How well and how fast the sealed vectors answer, against the exact scan.

    python bench/hnsw_recall.py [rows] [kind ...]

Kinds of vectors, 384 dimensions each:
    topics    2,000 topics of 60 fields, spread along 60 shared directions with falling variance and a little
              isotropic noise: neighbourhoods of low dimension, as sentence embeddings have them
    gaussian  2,000 Gaussian clusters with isotropic noise of 0.8: every neighbour is nearly as far as the next
    random    no structure at all: the hardest case, which no embedder produces
    file      the rows of $RECOLLECT_VECTORS, an .npz with arrays `x` (rows) and `q` (queries)

Expected: recall@100 of topics and of real embeddings at least 0.99, p50 at most 1 ms, some 2,000 rows/s built.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recollect.events.envelope import Recorded
from recollect.events.facts import AnyFact, Ingested
from recollect.events.grid import GridArray, quantize, to_bytes
from recollect.projections.documents import Documents
from recollect.projections.vectors.index import Vectors
from recollect.projections.vectors.sealing import Sealer
from recollect.projections.vectors.shard_cache import ShardCache
from recollect.projections.vectors.shard_names import Builder
from recollect.projections.vectors.shards import build_shard

DIMENSIONS = 384
QUERIES = 200
TOP = 100
DIGEST_ROWS = 5_000

Matrix = npt.NDArray[np.float64]


def topics(rng: np.random.Generator, count: int) -> Matrix:
    fields = rng.standard_normal((60, DIMENSIONS))
    centres = fields[rng.integers(0, 60, 2_000)] + 0.9 * rng.standard_normal((2_000, DIMENSIONS))
    spread = rng.standard_normal((60, DIMENSIONS)) / np.sqrt(np.arange(1, 61))[:, None]
    inner = rng.standard_normal((count, 60)) @ spread
    return (
        centres[rng.integers(0, 2_000, count)] + 0.5 * inner + 0.3 * rng.standard_normal((count, DIMENSIONS))
    )


def gaussian(rng: np.random.Generator, count: int) -> Matrix:
    centres = rng.standard_normal((2_000, DIMENSIONS))
    return centres[rng.integers(0, 2_000, count)] + 0.8 * rng.standard_normal((count, DIMENSIONS))


def uniform(rng: np.random.Generator, count: int) -> Matrix:
    return rng.standard_normal((count, DIMENSIONS))


KINDS = {"topics": topics, "gaussian": gaussian, "random": uniform}


def vectors_of(kind: str, rows: int) -> tuple[Matrix, Matrix]:
    """The rows and the queries."""
    if kind == "file":
        stored = np.load(os.environ["RECOLLECT_VECTORS"])
        return stored["x"][:rows].astype(np.float64), stored["q"][:QUERIES].astype(np.float64)
    made = KINDS[kind](np.random.default_rng(7), rows + QUERIES)
    return made[:rows], made[rows:]


class Bench:
    def __init__(self, folder: Path) -> None:
        self.documents = Documents()
        self.vectors = Vectors(self.documents, shard_dir=folder)

    def tell(self, fact: AnyFact) -> None:
        recorded = Recorded(self.vectors.seq + 1, 0, b"", "", "", 1, b"", fact)
        for new in self.documents.apply(recorded):
            self.vectors.add(new)
        self.vectors.apply(recorded)

    def ingest(self, matrix: Matrix) -> None:
        facts = [
            Ingested(id=f"m{n:07}", content="", at=0, vector=to_bytes(quantize(row)))
            for n, row in enumerate(matrix)
        ]
        began = time.perf_counter()
        for fact in facts:
            self.tell(fact)
        self.vectors.layout()
        print(f"  folded                {len(facts) / (time.perf_counter() - began):12,.0f} rows/s")

    def seal(self) -> None:
        began, built = time.perf_counter(), 0
        sealer = Sealer(self.vectors, self.tell)
        while (fact := sealer.step()) is not None:
            built += fact.count
        seconds = time.perf_counter() - began
        print(f"  built                 {built / seconds:12,.0f} rows/s ({built:,} rows in {seconds:.1f} s)")
        at = self.vectors.seq
        print(f"  shards                {[one.count for one in self.vectors.shards_at(at)]}")
        print(f"  scanned exactly       {self.vectors.unsealed_rows(at):12,}")

    def answer(self, queries: list[GridArray], at: int) -> None:
        scanned = partial(self.vectors.search, at=at, top=TOP, without=self.vectors.digests)
        best_of = [set(scanned(query).rows.tolist()) for query in queries]
        for query in queries[:10]:
            self.vectors.search(query, at=at, top=TOP)
        shares, times_ms = [], []
        for query, best in zip(queries, best_of, strict=True):
            began = time.perf_counter()
            hits = self.vectors.search(query, at=at, top=TOP)
            times_ms.append((time.perf_counter() - began) * 1e3)
            shares.append(len(best & set(hits.rows.tolist())) / len(best))
        print(
            f"  recall@{TOP}            {np.mean(shares):12.4f} (worst query in 20: {np.percentile(shares, 5):.2f})"
        )
        print(f"  search p50 / p95      {np.median(times_ms):9.2f} ms / {np.percentile(times_ms, 95):.2f} ms")


def checkpoint(bench: Bench) -> None:
    began = time.perf_counter()
    state = bench.vectors.dump()
    dumped = time.perf_counter()
    Vectors(bench.documents).load({k: v if isinstance(v, bytes) else v.copy() for k, v in state.items()})
    loaded = time.perf_counter()
    print(f"  dump / load           {dumped - began:9.3f} s / {loaded - dumped:.3f} s (with one copy)")


def reload(bench: Bench, folder: Path) -> None:
    fresh = Vectors(bench.documents, shard_dir=folder)
    fresh.load(bench.vectors.dump())
    began = time.perf_counter()
    fresh.warm()
    print(f"  shards from files     {time.perf_counter() - began:9.3f} s")


def digests_agree(bench: Bench) -> None:
    rows = bench.vectors.shard_rows(0, min(DIGEST_ROWS, bench.documents.rows), bench.vectors.seq)
    digests = {ShardCache(None).add(build_shard(rows, Builder())) for _ in range(2)}
    assert len(digests) == 1, "two builds of the same rows differ"
    print(f"  two builds            same digest ({len(rows.rows):,} rows)")


def run(kind: str, rows: int) -> None:
    matrix, queries = vectors_of(kind, rows)
    print(f"{kind}: {len(matrix):,} rows, {Builder().name}")
    points = [quantize(query) for query in queries]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = Bench(folder)
        bench.ingest(matrix)
        bench.answer(points[:20], at=min(len(matrix), 4_000))
        print("    ^ of the first 4,000 rows alone, all scanned exactly")
        bench.seal()
        bench.answer(points, at=bench.vectors.seq)
        checkpoint(bench)
        reload(bench, folder)
        digests_agree(bench)


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for chosen in sys.argv[2:] or ["topics"]:
        run(chosen, size)
