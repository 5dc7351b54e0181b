"""make eval: how well every built-in formula ranks, on conversations whose right answers are known.

LoCoMo (turn level, one store per conversation, `at` = the turn's time, `now` = a day after the last turn,
question types 1-4). MiniLM embeddings are cached in bench/results/. Prints R@1, R@5, R@10, MRR and nDCG@10 with
a bootstrap interval, next to words alone and vectors alone, and the paired randomisation test of our default
against each. Reads ../shared/data; says so and stops where it is not there.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from recollect.events.envelope import Recorded
from recollect.events.facts import EmbedderAdopted, Ingested, Question
from recollect.events.grid import quantize, to_bytes
from recollect.minilm import MiniLm
from recollect.projections.view import Projections, View
from recollect.query.formula import Formula, built_in, names, parse
from recollect.query.ranking import rank

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "locomo-dev"
CACHE = Path(__file__).parent / "results"
DAY_US = 86_400_000_000
COLUMNS = ("R@1", "R@5", "R@10", "MRR", "nDCG@10")
RESAMPLES = 2_000
CONTROLS = {
    "words": '{ op = "retrieve", channel = "lexical", variant = "lucene", analyzer = "english/1" }, '
    '{ op = "weigh", weights = { lexical = 1.0 } }',
    "vectors": '{ op = "retrieve", channel = "vector" }, { op = "weigh", weights = { vector = 1.0 } }',
}


class Conversation(NamedTuple):
    view: View
    now: int
    questions: list[tuple[Question, frozenset[str]]]


def read(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def embedded(name: str, texts: list[str]) -> npt.NDArray[np.float32]:
    """The texts' embeddings, from the cache if it has as many."""
    path = CACHE / f"{name}.npy"
    if path.exists() and len(cached := np.load(path)) == len(texts):
        return cached
    print(f"embedding {len(texts)} texts of {name}", file=sys.stderr)
    vectors = MiniLm().embed(texts)
    CACHE.mkdir(exist_ok=True)
    np.save(path, vectors)
    return vectors


def conversations(analyzers: set[str]) -> list[Conversation]:
    corpus, queries = read("corpus.jsonl"), [q for q in read("queries.jsonl") if int(q["type"]) != 5]
    judged: dict[str, set[str]] = defaultdict(set)
    for line in (DATA / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, _ = line.split("\t")
        judged[query].add(document)
    turns = list(zip(corpus, embedded("locomo-corpus", [c["text"] for c in corpus]), strict=True))
    asked = list(zip(queries, embedded("locomo-queries", [q["text"] for q in queries]), strict=True))
    found = []
    for group in sorted({c["group"] for c in corpus}):
        view, now = stored([turn for turn in turns if turn[0]["group"] == group], analyzers)
        questions = [
            (
                Question(text=q["text"], vector=to_bytes(quantize(v)), now=now, k=10),
                frozenset(judged[q["_id"]]),
            )
            for q, v in asked
            if q["group"] == group and judged[q["_id"]]
        ]
        found.append(Conversation(view, now, questions))
    return found


def stored(
    turns: list[tuple[dict[str, str], npt.NDArray[np.float32]]], analyzers: set[str]
) -> tuple[View, int]:
    """One conversation as a store of its own."""
    vectors = [to_bytes(quantize(vector)) for _, vector in turns]
    facts = [EmbedderAdopted(name="minilm", dimensions=384, probe=vectors[0])] + [
        Ingested(
            id=turn["_id"],
            content=turn["text"],
            session=turn["session"],
            at=micros(turn["ts"]),
            vector=vector,
        )
        for (turn, _), vector in zip(turns, vectors, strict=True)
    ]
    projections = Projections(sorted(analyzers))
    for _ in projections.apply_all(
        Recorded(n, 0, b"", "", "", 1, b"", fact) for n, fact in enumerate(facts, 1)
    ):
        pass
    now = max(micros(turn["ts"]) for turn, _ in turns) + DAY_US
    return projections.at(len(facts), now), now


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def scores_of(ids: tuple[str, ...], right: frozenset[str]) -> list[float]:
    gains = [id_ in right for id_ in ids]
    ideal = sum(1 / math.log2(n + 2) for n in range(min(10, len(right))))
    return [
        *(sum(gains[:k]) / len(right) for k in (1, 5, 10)),
        1 / (gains.index(True) + 1) if any(gains) else 0.0,
        sum(gain / math.log2(n + 2) for n, gain in enumerate(gains)) / ideal,
    ]


def evaluate(formula: Formula, found: list[Conversation]) -> npt.NDArray[np.float64]:
    return np.array(
        [
            scores_of(rank(question, conversation.view, formula).ids, right)
            for conversation in found
            for question, right in conversation.questions
        ]
    )


def interval(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def p_value(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Paired randomisation test of the difference of means."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], size=(RESAMPLES, len(a)))
    chance = np.abs((signs * (a - b)).mean(axis=1)) >= abs((a - b).mean())
    return float((chance.sum() + 1) / (RESAMPLES + 1))


def main() -> None:
    if not DATA.is_dir():
        print(f"skipped: there is no {DATA}")
        return
    formulas = [built_in(name) for name in names()]
    formulas += [
        parse(f'name = "{name}"\nstages = [{stages}]', origin=name) for name, stages in CONTROLS.items()
    ]
    found = conversations({analyzer for formula in formulas for analyzer in formula.analyzers})
    results = {formula.name: evaluate(formula, found) for formula in formulas}
    ours = results["recollect"]
    print(f"{len(ours)} questions in {len(found)} conversations\n")
    print("| formula | " + " | ".join(COLUMNS) + " | nDCG@10, 95 % | p against recollect |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for name, values in sorted(results.items(), key=lambda entry: -entry[1][:, 4].mean()):
        low, high = interval(values[:, 4])
        cells = " | ".join(f"{mean:.3f}" for mean in values.mean(axis=0))
        p = "" if name == "recollect" else f"{p_value(ours[:, 4], values[:, 4]):.4f}"
        print(f"| {name} | {cells} | {low:.3f} to {high:.3f} | {p} |")


if __name__ == "__main__":
    main()
