"""What we promise of ourselves, measured: recall live and in the past, append, rebuild, open, verify, compare,
memory, bisect.

Every function takes a store that holds a corpus and returns named numbers; the last part of a name is its unit.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import bisection
import cli
import compare
import mcp_handshake
from corpus import Asked, Corpus
from stores import EMBEDDER, START_US, STEP_US, Given, copied, facts_of, grown, now_us
from timing import interleaved, seconds_of, timed

from recollect.engine.store import Store
from recollect.events.envelope import draft
from recollect.events.facts import Accessed, AnyFact, Forgotten, Ingested, Question
from recollect.events.grid import to_bytes
from recollect.events.segment_log import SegmentLog
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in, names
from recollect.query.ranking import rank

QUESTIONS = 200
AGES = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)
OPENINGS = 3
HANDSHAKES = 5
SHELL_RUNS = 15
RANKED = 60
SCANNED_MAX = 200_000
SINGLES = 2_000
DURABLES = 100

Found = dict[str, float]


def measure(size: int, store: Path, scratch: Path, *, recalls: int) -> Found:
    """Everything at one size. `store` is not written to; `recalls` are recorded for verify and compare."""
    corpus = Corpus(size)
    found: Found = {**single_appends(scratch / "single"), **opened(store, size)}
    copy = copied(store, scratch / "lived")
    found |= recall(copy, corpus)
    found |= replay(copy, corpus, recalls)
    shutil.rmtree(copy)
    return found


def questions_of(corpus: Corpus, count: int = QUESTIONS, part: int = 0) -> list[Question]:
    return [as_question(asked, corpus.size) for asked in corpus.questions(count, part)]


def as_question(asked: Asked, size: int) -> Question:
    return Question(text=asked.text, vector=to_bytes(asked.point), embedder=EMBEDDER, now=now_us(size), k=10)


# --- the log ---------------------------------------------------------------------------------------


def single_appends(folder: Path) -> Found:
    """One event at a time, without and with waiting for the disk."""
    drafts = [draft(Ingested(id=f"s{n}", content="a short note", at=n)) for n in range(SINGLES + DURABLES)]
    log = SegmentLog.open(folder)
    unsynced = seconds_of(lambda: [log.append([one], durability="unsafe") for one in drafts[:SINGLES]])
    durable = seconds_of(lambda: [log.append([one]) for one in drafts[SINGLES:]])
    log.close()
    return {
        "append_single_unsynced_ms": unsynced / SINGLES * 1e3,
        "append_single_durable_ms": durable / DURABLES * 1e3,
    }


# --- recall ----------------------------------------------------------------------------------------


def recall(folder: Path, corpus: Corpus) -> Found:
    """Through `Memory` (nothing recorded, then recorded), and the ranking alone under every formula."""
    live_on(folder, corpus)
    asked = corpus.questions(QUESTIONS)
    given = Given(folder)
    given.vectors.update({one.text: one.point for one in asked})
    texts = [one.text for one in asked]
    found: Found = {}
    with Memory.open(folder, embedder=given, formula="reverie") as memory:
        for name in ("reverie", "recollect"):
            timing = timed(lambda text, name=name: memory.recall(text, formula=name, record=False), texts)
            prefix = "recall" if name == "reverie" else "recall_default"
            found |= {f"{prefix}_ms_p50": timing.p50_ms, f"{prefix}_ms_p95": timing.p95_ms}
        found["recall_recorded_ms_p50"] = timed(memory.recall, texts).p50_ms
        store = memory.store
        found["recall_at_100"] = vector_recall(store, asked[: 100 if corpus.size <= SCANNED_MAX else 20])
        found |= rankings(store, [as_question(one, corpus.size) for one in asked[:RANKED]])
    return found


def live_on(folder: Path, corpus: Corpus) -> None:
    """A history after the index was sealed: new memories in the exact tail, accesses, forgettings."""
    newer = next(Corpus(corpus.size, seed=corpus.seed + 1).blocks(0, 1_000))
    facts: list[AnyFact] = []
    for n, fact in enumerate(facts_of(newer, corpus.size)):
        at = START_US + (corpus.size + n) * STEP_US
        facts.append(fact)
        facts.append(Accessed(ids=(f"m{n * 7 % corpus.size:08d}",), at=at, session=f"s{n % 50}"))
        if n % 10 == 0:
            facts.append(Forgotten(id=f"m{n * 3 % corpus.size:08d}"))
    store = Store.open(folder)
    store.append(facts)
    store.close()


def rankings(store: Store, questions: Sequence[Question]) -> Found:
    """The ranking alone, formula by formula."""
    asks: dict[str, Callable[[Question], object]] = {}
    for name in names():
        formula = built_in(name)
        store.require_analyzers(formula.analyzers)
        view = store.view()
        asks[name] = lambda question, view=view, formula=formula: rank(question, view, formula, prefetch=True)
    return {f"rank_{name}_ms_p50": t.p50_ms for name, t in interleaved(asks, questions).items()}


def vector_recall(store: Store, asked: Sequence[Asked]) -> float:
    """The share of the 100 nearest by exact scan that the shards and the tail find."""
    vectors, seq = store.projections.vectors, store.log.head
    shares = []
    for one in asked:
        near = set(vectors.search(one.point, at=seq, top=100).rows.tolist())
        true = set(vectors.search(one.point, at=seq, top=100, without=vectors.digests).rows.tolist())
        shares.append(len(near & true) / len(true))
    return statistics.mean(shares)


def as_of(size: int, folder: Path) -> tuple[Found, list[tuple[float, float]]]:
    """The same questions at ages of a store that was sealed as it grew: the worst against live, and each.

    The past is smaller than the present; what a question costs there is set against what it costs live.
    """
    corpus = Corpus(size)
    store = Store.open(grown(folder, corpus))
    formula = built_in("reverie")
    store.require_analyzers(formula.analyzers)
    head = store.log.head
    asks = {}
    for age in AGES:
        view = store.view(max(1, int(head * age)))
        asks[str(age)] = lambda question, view=view: rank(question, view, formula, prefetch=True)
    timings = interleaved(asks, questions_of(corpus), rounds=2 * len(AGES))
    store.close()
    live = timings["1.0"].p50_ms
    past = {age: timings[str(age)].p50_ms for age in AGES[1:]}
    found = {"as_of_live_ms_p50": live, "as_of_worst_ms_p50": max(past.values())}
    found["as_of_ratio"] = found["as_of_worst_ms_p50"] / live
    return found, [(1.0 - age, timings[str(age)].p50_ms) for age in AGES]


# --- opening and memory ----------------------------------------------------------------------------


def opened(folder: Path, size: int, openings: int = OPENINGS) -> Found:
    """Fresh processes; the middle one of a few."""
    script = Path(__file__).with_name("opening.py")
    runs: list[Found] = []
    for _ in range(openings):
        done = subprocess.run(
            [sys.executable, str(script), str(folder), str(size)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        runs.append(json.loads(done.stdout))
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def shell(memories: int) -> Found:
    """A cold status and a warm recall as commands, with the real model."""
    with tempfile.TemporaryDirectory(dir="/tmp") as runtime:
        os.environ["XDG_RUNTIME_DIR"] = runtime
        found = cli.figures(cli.store_of(memories), SHELL_RUNS)
    return {
        "status_cold_s": found["status cold"]["wall_s"],
        "recall_warm_s": found["recall warm"]["wall_s"],
    }


def handshake(folder: Path, memories: int) -> Found:
    """From starting `recollect mcp` to its answer, over a store of texts alone."""
    with Memory.open(folder, embedder=None) as memory:
        memory.remember_many([text for block in Corpus(memories).blocks() for text in block.texts])
    waits = [mcp_handshake.handshake(str(folder))[0] for _ in range(HANDSHAKES)]
    return {"mcp_handshake_s": statistics.median(waits)}


# --- replay ----------------------------------------------------------------------------------------


def replay(folder: Path, corpus: Corpus, recalls: int) -> Found:
    """verify and compare over recorded recalls."""
    store = Store.open(folder, analyzers=built_in("reverie").analyzers)
    compare.record(store, questions_of(corpus, recalls, part=5))
    store.catch_up()
    found = compare.rates(store)
    store.close()
    return found


def bisected(memories: int, events: int) -> Found:
    """The event that moved a memory, found in a log of so many."""
    found = bisection.measure(memories=memories, events=events)
    return {"bisect_s": float(found["bisect_s"]), "bisect_events": float(events)}
