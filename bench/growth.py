"""How cost grows: with memories, with versions per memory, with recalls recorded, and with the age of a question.

Each function gives series of points (x, y) under names whose last part is the unit of y. `charts` draws them.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from chart import Series, line_chart
from corpus import BLOCK, Block, Corpus
from ours import as_question, opened
from stores import EMBEDDER, FORMULAS, START_US, STEP_US, adoption, copied, facts_of, made, seal
from timing import interleaved

from recollect.engine.store import Store
from recollect.events.facts import Accessed, AnyFact, FormulaAdopted, Question, Recalled, Revised
from recollect.events.grid import to_bytes
from recollect.query.formula import built_in
from recollect.query.ranking import rank

QUESTIONS = 60
VERSIONED = BLOCK
RECALLS_AMONG = 10_000

Points = list[tuple[float, float]]
Lines = dict[str, Points]


def with_memories(sizes: Sequence[int], stores: Path) -> Lines:
    lines: Lines = {"reverie_ms": [], "default_ms": [], "open_s": [], "resident_mb": []}
    for size in sizes:
        folder = stores / str(size)
        corpus = Corpus(size)
        made(folder, corpus)
        for name, value in _recall_ms(folder, corpus).items():
            lines[name].append((size, value))
        fresh = opened(folder, size)
        lines["open_s"].append((size, fresh["open_s"]))
        lines["resident_mb"].append((size, fresh["resident_bytes"] / 2**20))
    return lines


def with_versions(counts: Sequence[int], scratch: Path) -> Lines:
    """A thousand memories, revised again and again; every version has its own text and vector."""
    folder = scratch / "versions"
    corpus = Corpus(VERSIONED * max(counts))
    blocks = corpus.blocks()
    store = Store.open(folder)
    first = next(blocks)
    store.append([adoption(first), *facts_of(first, 0)])
    lines: Lines = {"reverie_ms": [], "default_ms": []}
    versions = 1
    for count in counts:
        while versions < count:
            store.append(_revisions(next(blocks), versions))
            versions += 1
        store.catch_up()
        seal(store, quiet=True)
        for name, value in _asked(store, corpus).items():
            lines[name].append((count, value))
    store.close()
    shutil.rmtree(folder)
    return lines


def _revisions(block: Block, version: int) -> list[AnyFact]:
    at = START_US + version * VERSIONED * STEP_US
    return [
        Revised(id=f"m{n:08d}", at=at + n, content=text, vector=to_bytes(point), embedder=EMBEDDER)
        for n, (text, point) in enumerate(zip(block.texts, block.points, strict=True))
    ]


def with_recalls(counts: Sequence[int], stores: Path, scratch: Path) -> Lines:
    """Ten thousand memories and ever more recorded recalls, each with ten hits that count as read."""
    corpus = Corpus(RECALLS_AMONG)
    made(stores / str(RECALLS_AMONG), corpus)
    folder = copied(stores / str(RECALLS_AMONG), scratch / "recalls")
    lines: Lines = {"reverie_ms": [], "default_ms": [], "open_s": []}
    done = 0
    for count in counts:
        _record(folder, corpus, done, count)
        done = count
        for name, value in _recall_ms(folder, corpus).items():
            lines[name].append((count, value))
        lines["open_s"].append((count, opened(folder, RECALLS_AMONG)["open_s"]))
    shutil.rmtree(folder)
    return lines


def _record(folder: Path, corpus: Corpus, first: int, end: int) -> None:
    """Recalls as `Memory.recall` records them, with hits drawn at random, so that a hundred thousand take seconds."""
    store = Store.open(folder)
    formula = built_in("reverie")
    if first == 0:
        store.append([FormulaAdopted(name=formula.name, digest=formula.digest, text=formula.text)])
    asked = corpus.questions(QUESTIONS, part=4)
    draw = random.Random(first)
    batch: list[AnyFact] = []
    for number in range(first, end):
        ids = tuple(f"m{draw.randrange(corpus.size):08d}" for _ in range(10))
        question = as_question(asked[number % len(asked)], corpus.size)
        scores = tuple(1.0 / (place + 1) for place in range(10))
        batch.append(
            Recalled(question=question, basis=corpus.size, formula=formula.digest, ids=ids, scores=scores)
        )
        batch.append(Accessed(ids=ids, at=question.now + number, how="returned", session=f"s{number // 20}"))
        if len(batch) >= 2_000 or number == end - 1:
            store.append(batch, durability="unsafe")
            batch = []
    store.catch_up()
    store.checkpoint()
    store.close()


def _recall_ms(folder: Path, corpus: Corpus) -> dict[str, float]:
    store = Store.open(folder)
    found = _asked(store, corpus)
    store.close()
    return found


def _asked(store: Store, corpus: Corpus) -> dict[str, float]:
    """The middle time of a ranking, under reverie and under the default formula."""
    questions: list[Question] = [as_question(one, corpus.size) for one in corpus.questions(QUESTIONS)]
    asks = {}
    for name in FORMULAS:
        formula = built_in(name)
        store.require_analyzers(formula.analyzers)
        view = store.view()
        asks[name] = lambda question, view=view, formula=formula: rank(question, view, formula, prefetch=True)
    timings = interleaved(asks, questions)
    return {"reverie_ms": timings["reverie"].p50_ms, "default_ms": timings["recollect"].p50_ms}


def charts(growth: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> dict[str, str]:
    """File names under docs/pictures and what they hold."""
    names = {"reverie_ms": "reverie", "default_ms": "default formula", "as_of_ms": "reverie, as of"}

    def drawn(part: str, title: str, x_name: str) -> str:
        lines = [Series(names[name], points) for name, points in growth[part].items() if name in names]
        return line_chart(title, x_name, "ms, p50", lines)

    pictures = {
        "growth-memories.svg": ("memories", "Recall by number of memories", "memories"),
        "growth-versions.svg": ("versions", "Recall by versions per memory (1,000 memories)", "versions"),
        "growth-recalls.svg": ("recalls", "Recall by recalls recorded (10,000 memories)", "recalls recorded"),
        "growth-age.svg": ("age", "Recall as of the past", "age of the seq, share of the log"),
    }
    files = {name: drawn(*what) for name, what in pictures.items() if what[0] in growth}
    if "memories" in growth:
        files["growth-open.svg"] = line_chart(
            "Opening and memory by number of memories",
            "memories",
            "s, GB",
            [
                Series("open, s", growth["memories"]["open_s"]),
                Series("resident, GB", [(x, mb / 1024) for x, mb in growth["memories"]["resident_mb"]]),
            ],
        )
    return files
