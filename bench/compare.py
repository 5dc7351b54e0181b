"""compare and verify over recorded recalls at 100,000 memories, and a closed-loop fork of the same log.

A comparison ranks every question twice. Two formulas that retrieve alike share the search, which is most of the
work; two that retrieve differently do not. Promised: 300 recalls per second for verify and for compare, with
reverie. The corpus is that of `corpus.py`; questions carry vectors, and every second one counts its hits as read.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from corpus import Corpus
from stores import EMBEDDER, made, now_us

from recollect.engine.store import Store
from recollect.events.facts import Accessed, AnyFact, FormulaAdopted, Question, Recalled
from recollect.events.grid import to_bytes
from recollect.query.formula import Formula, built_in
from recollect.query.ranking import rank
from recollect.query.stages.retrieving import Retrieve
from recollect.query.stages.scoring import Fuse
from recollect.replay.compare.compare import compare
from recollect.replay.fork.fork import fork
from recollect.replay.verify import verify

RECALLS = 1_000
ROUNDS = 3
PROMISED_PER_S = 300


def changed(name: str, **changes: object) -> Formula:
    """Reverie with other numbers in its fusing or retrieving stages."""
    stages = tuple(
        msgspec.structs.replace(stage, **{k: v for k, v in changes.items() if k in stage.__struct_fields__})
        if isinstance(stage, Fuse | Retrieve)
        else stage
        for stage in built_in("reverie").stages
    )
    return msgspec.structs.replace(built_in("reverie"), name=name, stages=stages)


def record(store: Store, questions: list[Question]) -> None:
    formula = built_in("reverie")
    store.append([FormulaAdopted(name=formula.name, digest=formula.digest, text=formula.text)])
    for number, question in enumerate(questions):
        view = store.view()
        ranking = rank(question, view, formula)
        facts: list[AnyFact] = [
            Recalled(
                question=question,
                basis=view.seq,
                formula=formula.digest,
                ids=ranking.ids,
                scores=ranking.scores,
            )
        ]
        if number % 2 == 0:
            facts.append(Accessed(ids=ranking.ids, at=question.now, how="returned"))
        store.append(facts, durability="unsafe")


def rate(name: str, recalls: int, work: Callable[[], object]) -> dict[str, float]:
    """Recalls per second: in the middle of the rounds, and in the one that the machine disturbed least."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return {
        f"{name}_per_s": recalls / statistics.median(seconds),
        f"{name}_best_per_s": recalls / min(seconds),
    }


def rates(store: Store) -> dict[str, float]:
    """verify, and compare with a formula that retrieves alike and with one that does not, over all that was asked."""
    log, projections, reverie = store.log, store.projections, built_in("reverie")
    other_k, other_top = changed("other-k", k=10.0), changed("other-top", top=80)
    compare(log, projections, reverie, other_k, last=20)
    report = verify(log, projections)
    recalls = report.checked
    return {
        "recalls": float(recalls),
        "verify_exact": float(report.exact),
        **rate("verify", recalls, lambda: verify(log, projections)),
        **rate("compare_other_k", recalls, lambda: compare(log, projections, reverie, other_k)),
        **rate("compare_other_top", recalls, lambda: compare(log, projections, reverie, other_top)),
    }


def measure(size: int, folder: Path) -> dict[str, float]:
    corpus = Corpus(size)
    made(folder, corpus)
    store = Store.open(folder, analyzers=built_in("reverie").analyzers)
    record(store, questions(corpus, RECALLS))
    store.catch_up()
    found = rates(store)
    begun = time.perf_counter()
    report = fork(
        store.log,
        folder / "fork",
        since=size,
        formula=changed("other-k", k=10.0),
        closed_loop=True,
        shard_dir=folder / "cache" / "shards",
    )
    found["fork_s"] = time.perf_counter() - begun
    found["fork_recalls_changed"] = float(report.recalls_changed)
    store.close()
    return found


def questions(corpus: Corpus, count: int) -> list[Question]:
    return [
        Question(text=one.text, vector=to_bytes(one.point), embedder=EMBEDDER, now=now_us(corpus.size), k=10)
        for one in corpus.questions(count, part=5)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    size = parser.parse_args().size
    folder = Path(tempfile.mkdtemp(prefix="recollect-compare-"))
    try:
        found = measure(size, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{size:,} memories")
    for name, value in found.items():
        promised = name.endswith("_per_s")
        met = ("met" if value >= PROMISED_PER_S else "MISSED") if promised else ""
        print(f"  {name:26} {value:12,.1f}   {f'≥ {PROMISED_PER_S}' if promised else '':8} {met}")
    path = Path(__file__).parent / "results" / f"compare-{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"memories": size, **found}, indent=2), "utf-8")


if __name__ == "__main__":
    main()
