"""make bench: recall (live and as of), append, rebuild, open, verify and memory, against the figures we promise.

One process, one machine, one run; what matters are the ratios and whether a figure is met. Corpora are
synthetic: Zipf-distributed words, vectors in clusters on the grid (384 dimensions), fixed seed. The result
is printed and written as JSON with commit and machine to bench/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from recollect.events.envelope import draft
from recollect.events.facts import Accessed, AnyFact, EmbedderAdopted, Forgotten, Ingested, Question
from recollect.events.grid import quantize, to_bytes
from recollect.events.segment_log import SegmentLog
from recollect.query.formula import built_in, names
from recollect.query.ranking import rank
from recollect.store import Store

DIMENSIONS = 384
LATENT = 32
VOCABULARY = 50_000
WORDS = 18
QUESTIONS = 200
EMBEDDER = "bench/clustered"
START_US = 1_700_000_000_000_000


class Corpus:
    """Texts, vectors and questions that resemble short notes."""

    def __init__(self, size: int, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.size = size
        self._words = np.array([f"w{n:x}" for n in range(VOCABULARY)])
        self._weights = 1.0 / np.arange(1, VOCABULARY + 1)
        self._weights /= self._weights.sum()
        self._rng = rng
        self._lift = rng.normal(size=(LATENT, DIMENSIONS))
        self._topics = rng.normal(size=(max(size // 50, 10), LATENT))

    def texts(self, count: int, words: int = WORDS) -> list[str]:
        picks = self._rng.choice(self._words, (count, words), p=self._weights)
        return [" ".join(row) for row in picks]

    def vectors(self, count: int) -> list[bytes]:
        """Points around topics in a space of few dimensions, lifted into many, with a little noise.

        Sentence embeddings have an intrinsic dimension of some tens; isotropic noise in all 384 would make
        every memory outside the topic equally far, which no text is.
        """
        topics = self._topics[self._rng.integers(len(self._topics), size=count)]
        latent = topics + 0.5 * self._rng.normal(size=(count, LATENT))
        lifted = latent @ self._lift + 0.5 * self._rng.normal(size=(count, DIMENSIONS))
        return [to_bytes(quantize(vector)) for vector in lifted]

    def questions(self, count: int) -> list[Question]:
        texts, vectors = self.texts(count, words=6), self.vectors(count)
        now = START_US + self.size * 1_000_000
        return [
            Question(text=text, vector=vector, embedder=EMBEDDER, now=now, k=10)
            for text, vector in zip(texts, vectors, strict=True)
        ]


def fill(folder: Path, corpus: Corpus) -> float:
    """Append the corpus in durable batches of 1,000; events per second."""
    log = SegmentLog.open(folder / "log")
    probe = corpus.vectors(1)[0]
    log.append([draft(EmbedderAdopted(name=EMBEDDER, dimensions=DIMENSIONS, probe=probe))])
    spent = 0.0
    for start in range(0, corpus.size, 1_000):
        texts, vectors = corpus.texts(1_000), corpus.vectors(1_000)
        drafts = [
            draft(
                Ingested(
                    id=f"m{start + n:08d}",
                    content=text,
                    vector=vector,
                    embedder=EMBEDDER,
                    at=START_US + (start + n) * 1_000_000,
                )
            )
            for n, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        begun = time.perf_counter()
        log.append(drafts)
        spent += time.perf_counter() - begun
    log.close()
    return corpus.size / spent


def single_append_ms(folder: Path) -> float:
    log = SegmentLog.open(folder / "single")
    drafts = [draft(Ingested(id=f"s{n}", content="a short note", at=n)) for n in range(2_000)]
    begun = time.perf_counter()
    for one in drafts:
        log.append([one], durability="unsafe")
    spent = time.perf_counter() - begun
    log.close()
    return spent / len(drafts) * 1e3


def p50_ms(questions: list[Question], store: Store, seq: int, name: str = "reverie") -> float:
    formula = built_in(name)
    store.require(formula)
    view = store.view(seq)
    times = []
    for question in questions:
        begun = time.perf_counter()
        rank(question, view, formula)
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3


def fsync_per_second(folder: Path) -> float:
    path = folder / "fsync"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    begun = time.perf_counter()
    for _ in range(200):
        os.write(descriptor, b"x" * 512)
        os.fdatasync(descriptor)
    os.close(descriptor)
    return 200 / (time.perf_counter() - begun)


def measure(size: int, folder: Path) -> dict[str, float]:
    corpus = Corpus(size)
    found: dict[str, float] = {"append_batched_per_s": fill(folder, corpus)}
    found["append_single_unsafe_ms"] = single_append_ms(folder)
    begun = time.perf_counter()
    store = Store.open(folder, analyzers=built_in("reverie").analyzers)
    found["rebuild_events_per_s"] = store.log.head / (time.perf_counter() - begun)
    begun = time.perf_counter()
    while store.sealer.step() is not None:
        print(f"  sealed: {len(store.projections.vectors.shards_at(store.log.head))} shards", file=sys.stderr)
    found["hnsw_build_s"] = time.perf_counter() - begun
    found["shards"] = float(len(store.projections.vectors.shards_at(store.log.head)))
    sealed = store.log.head
    live_on(store, corpus)
    questions = corpus.questions(QUESTIONS)
    head = store.log.head
    p50_ms(questions[:20], store, head)
    found["recall_live_ms_p50"] = p50_ms(questions, store, head)
    past = [p50_ms(questions, store, seq) for seq in (sealed, (sealed + head) // 2, head - 1)]
    found["recall_as_of_ms_p50"] = statistics.mean(past)
    found["as_of_before_first_seal_ms_p50"] = p50_ms(questions[:20], store, size // 2)
    for name in names():
        p50_ms(questions[:20], store, head, name)
        found[f"{name}_ms_p50"] = p50_ms(questions, store, head, name)
    found["recall_at_100"] = vector_recall(store, questions)
    store.checkpoint()
    store.close()
    found.update(reopen(folder, corpus.vectors(1)[0], size))
    return found


def live_on(store: Store, corpus: Corpus) -> None:
    """A history after the index was sealed: new memories in the exact tail, accesses, forgettings."""
    texts, vectors = corpus.texts(1_000), corpus.vectors(1_000)
    facts: list[AnyFact] = []
    for n, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        at = START_US + (corpus.size + n) * 1_000_000
        facts.append(Ingested(id=f"n{n:08d}", content=text, vector=vector, embedder=EMBEDDER, at=at))
        facts.append(Accessed(ids=(f"m{n * 7 % corpus.size:08d}",), at=at, session=f"s{n % 50}"))
        if n % 10 == 0:
            facts.append(Forgotten(id=f"m{n * 3 % corpus.size:08d}"))
    store.append(facts)
    store.catch_up()


def vector_recall(store: Store, questions: list[Question]) -> float:
    vectors, seq = store.projections.vectors, store.log.head
    shares = []
    for question in questions[:100]:
        assert question.vector is not None
        query = np.frombuffer(question.vector, "<i2")
        near = set(vectors.search(query, at=seq, top=100).rows.tolist())
        true = set(vectors.exact(query, at=seq, top=100).rows.tolist())
        shares.append(len(near & true) / len(true))
    return statistics.mean(shares)


def reopen(folder: Path, vector: bytes, size: int) -> dict[str, float]:
    """Open in a fresh process: lexical ready, then recalls recorded and verified, and the memory it takes."""
    script = (
        "import sys, time, json, numpy as np\n"
        "from pathlib import Path\n"
        "from recollect.memory import Memory\n"
        "def resident(): return int(Path('/proc/self/statm').read_text().split()[1]) * 4096\n"
        "before = resident()\n"
        "begun = time.perf_counter()\n"
        "memory = Memory.open(sys.argv[1], embedder=None, formula='reverie')\n"
        "memory.recall('w1 w20 w300', record=False)\n"
        "opened = time.perf_counter() - begun\n"
        "for n in range(300): memory.recall(f'w{n:x} w{n * 7:x} w{n * 31:x}', track=n % 2 == 0)\n"
        "begun = time.perf_counter()\n"
        "report = memory.verify()\n"
        "rate = report.checked / (time.perf_counter() - begun)\n"
        "store = memory._store\n"
        "query = np.frombuffer(bytes.fromhex(sys.argv[2]), '<i2')\n"
        "store.projections.vectors.search(query, at=store.log.head, top=100)\n"
        "print(json.dumps({'open_s': opened, 'verify_per_s': rate, 'verify_exact': float(report.exact),"
        " 'resident_bytes_per_memory': (resident() - before) / int(sys.argv[3])}))\n"
        "memory.close()\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", script, str(folder), vector.hex(), str(size)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(output.stdout)


TARGETS = {
    "recall_live_ms_p50": ("≤", 3.0),
    "as_of / live": ("≤", 1.3),
    "recall_at_100": ("≥", 0.99),
    "append_batched_per_s": ("≥", 50_000),
    "append_single_unsafe_ms": ("≤", 0.1),
    "rebuild_events_per_s": ("≥", 100_000),
    "open_s": ("≤", 1.0),
    "verify_per_s": ("≥", 300),
    "resident_bytes_per_memory": ("≤", 3_000),
}


def report(results: dict[int, dict[str, float]]) -> None:
    for size, found in results.items():
        found["as_of / live"] = found["recall_as_of_ms_p50"] / found["recall_live_ms_p50"]
        print(f"\n{size:,} memories")
        for name, value in found.items():
            sign, target = TARGETS.get(name, ("", 0.0))
            met = (
                ""
                if not sign
                else ("met" if (value <= target if sign == "≤" else value >= target) else "MISSED")
            )
            goal = f"{sign} {target:g}" if sign else ""
            print(f"  {name:28} {value:14,.3f}   {goal:12} {met}")


def save(results: dict[int, dict[str, float]], fsyncs: float) -> Path:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    document = {
        "commit": commit.stdout.strip(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "fsync_per_s": fsyncs,
        "results": results,
    }
    path.write_text(json.dumps(document, indent=2), "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    sizes = parser.parse_args().sizes
    root = Path(tempfile.mkdtemp(prefix="recollect-bench-"))
    try:
        fsyncs = fsync_per_second(root)
        print(f"fsync rate {fsyncs:,.0f}/s")
        results = {size: measure(size, root / str(size)) for size in sizes}
        report(results)
        print(f"\nwritten to {save(results, fsyncs)}")
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
