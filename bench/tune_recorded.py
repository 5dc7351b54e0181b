"""tune on recorded traffic: LoCoMo and BEAM asked under a formula, by readers who use what they look at.

    python bench/tune_recorded.py [formula …]

Unless told, the formulas are `draft.toml`, which is what one might write before measuring, a published one whose weights
were not chosen for such texts, and the default, whose weights were.

Each collection becomes one store, a project per conversation; its questions are asked in turn, one conversation after the
other, through `Memory.recall` with the project as filter. A right memory of the first ten that is looked at is used
(`Memory.access`), and that is all that `tune` is given. BEAM, which has few questions, is asked twice more: by an agent
that reads all ten, as a model does that has them in its prompt, and by a user who says of every question what ought to be
among the first ten (`Memory.expect`), whether it was shown or not. `tune` chooses on the earlier half of the judged
questions and judges on the later one. Beside its own estimate stands what it cannot know: nDCG@10 by the collection's
judgements over all questions of the later half of the traffic, also those of which nothing was said.

The texts are for evaluation only and never leave the machine.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from quality.data import Line, memories, micros, missing, read
from quality.embeddings import Vectors, embedded
from record_locomo import CachedMiniLm, Clock

from recollect.engine.embedding.embedder import PROBE_TEXT
from recollect.engine.tune import Tuned
from recollect.interfaces.python.memory import Memory
from recollect.replay.compare.judgements import Judgements
from recollect.replay.compare.significance import bootstrap_interval

LOOKS, READS, EXPECTS = "looks at 1/rank", "reads all ten", "says what is expected"
RUNS = (("locomo-dev", LOOKS), ("beam-dev", LOOKS), ("beam-dev", READS), ("beam-dev", EXPECTS))
DRAFT = str(Path(__file__).with_name("draft.toml"))
FORMULAS = (DRAFT, "memorysync", "recollect")
K, SEED = 10, 1


class Run(NamedTuple):
    """What was learned from one recorded run, and the judged quality of both formulas on the later half of it."""

    collection: str
    reader: str
    formula: str
    questions: int
    judged: int
    tuned: Tuned
    ndcg: tuple[float, float]
    interval: tuple[float, float]


class Known(CachedMiniLm):
    """MiniLM's vectors of these texts, embedded at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._vectors = dict(zip(texts, embedded(texts), strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._vectors[text] for text in texts], dtype=np.float32)


def record(memory: Memory, name: str, reader: str) -> tuple[Judgements, int]:
    """Fill the store and ask; the judgements by recall, and of how many answers the reader said something."""
    lines, questions, right = read(name)
    for group in dict.fromkeys(line["group"] for line in lines):
        memory.remember_many(_items([line for line in lines if line["group"] == group], group))
    draw, judgements, judged = random.Random(SEED), Judgements(), 0
    for line in in_turn([line for line in questions if right[line["_id"]]]):
        answer = memory.recall(line["text"], k=K, filters={"project": line["group"]}, track=False)
        assert answer.id is not None
        wanted = {f"{line['group']}/{id_}" for id_ in right[line["_id"]]}
        judgements[answer.id] = dict.fromkeys(sorted(wanted), 1.0)
        looked = [
            hit.id
            for hit in answer.hits
            if (reader == READS or draw.random() < 1.0 / hit.rank) and hit.id in wanted
        ]
        if reader == EXPECTS:
            for id_ in sorted(wanted):
                memory.expect(answer.id, id_, top=K)
        elif looked:
            memory.access(looked, recall=answer.id, how="used")
        judged += reader == EXPECTS or bool(looked)
    return judgements, judged


def in_turn(questions: Sequence[Line]) -> Iterator[Line]:
    """One question of every conversation after the other, so that both halves hold all of them."""
    groups: dict[str, list[Line]] = {}
    for line in questions:
        groups.setdefault(line["group"], []).append(line)
    return (line for line in chain.from_iterable(zip_longest(*groups.values())) if line is not None)


def _items(lines: Sequence[Line], group: str) -> Iterator[dict[str, object]]:
    for memo in memories(lines):
        yield {
            "id": f"{group}/{memo.id}", "content": memo.content, "tags": memo.tags, "entities": memo.entities,
            "session": memo.session and f"{group}/{memo.session}", "at": memo.at / 1e6, "project": group,
        }  # fmt: skip


def run(name: str, reader: str, formula: str, folder: Path) -> Run:
    lines, questions, _ = read(name)
    last = max(micros(line["ts"]) for line in lines if line.get("ts"))
    groups = {line["group"] for line in lines}
    texts = [
        memo.content
        for group in groups
        for memo in memories([line for line in lines if line["group"] == group])
    ]
    known = Known([PROBE_TEXT, *texts, *(line["text"] for line in questions)])
    with Memory.open(
        folder / f"{name}-{reader[0]}-{Path(formula).stem}",
        embedder=known,
        formula=formula,
        clock=Clock(last),
    ) as memory:
        judgements, judged = record(memory, name, reader)
        tuned = memory.tune(formula)
        found = folder / "found.toml"
        found.write_text(tuned.text, "utf-8")
        later = len(judgements) - len(judgements) // 2
        comparison = memory.compare(formula, found, last=later, qrels=judgements, k=K)
    differences = [(row.ndcg_b or 0.0) - (row.ndcg_a or 0.0) for row in comparison.rows]
    before, after = (fmean(getattr(row, f"ndcg_{side}") or 0.0 for row in comparison.rows) for side in "ab")
    return Run(
        name,
        reader,
        Path(formula).stem,
        len(judgements),
        judged,
        tuned,
        (before, after),
        bootstrap_interval(differences),
    )


def table(runs: Sequence[Run]) -> str:
    """The runs as Markdown."""
    lines = [
        "| recorded run | the reader | questions, judged | chosen on, judged on | estimate | 95 % of the gain, p | nDCG@10 of the later half |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in runs:
        t = one.tuned
        lines.append(
            f"| {one.collection} under `{one.formula}` | {one.reader} | {one.questions}, {one.judged} | {t.chosen_on}, {t.judged} | "
            f"{t.before:.4f} → **{t.after:.4f}** | {t.low:+.4f} … {t.high:+.4f}, {t.p_value:.4f} | "
            f"{one.ndcg[0]:.4f} → {one.ndcg[1]:.4f} ({one.interval[0]:+.4f} … {one.interval[1]:+.4f}) |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    if problem := missing():
        print(f"skipped: {problem}")
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, reader in RUNS:
            for formula in arguments or FORMULAS:
                runs.append(run(name, reader, formula, Path(folder)))
                print(f"{name} under {formula}, {reader}: {runs[-1].tuned.sentence}", flush=True)
                for number in runs[-1].tuned.numbers:
                    print(f"  {number.stage} {number.name} {number.before:g} → {number.after:g}", flush=True)
    print(table(runs))


if __name__ == "__main__":
    main(sys.argv[1:])
