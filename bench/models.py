"""Which embedder: how well the default formula ranks with each that can be run here. A part of `make eval`.

    python bench/models.py                                 words only, hash and MiniLM, on the collections of make eval
    python bench/models.py --also st:./mine                and a model of your own, by the name that --embedder takes
    python bench/models.py --collections locomo-dev,beam-dev

Writes bench/results/models.json and the table in docs/models.md. MiniLM's vectors come from the cache of `make eval`. The
zero is the mean cosine of the probe text with memories: what the model calls unrelated. The floor of the default formula
reads cosines from there (`nearness`), so the share of questions that it leaves without an answer should not depend on
the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from quality import data
from quality.controls import by_formula
from quality.judging import OURS, judge, means

from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import Embedder
from recollect.events.grid import from_bytes
from recollect.query.formula import Formula, built_in
from recollect.query.ranking import rank

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "models.json"
PAGE = ROOT / "docs" / "models.md"
BEGIN, END = "<!-- made by bench/models.py -->", "<!-- until here -->"
WORDS, MINILM = "none", "minilm"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One embedder on one collection; `silent` is the share of questions with an answer that got none."""

    embedder: str
    collection: str
    dimensions: int
    questions: int
    ndcg: float
    recall: float
    silent: float
    zero: float


def measured(name: str, collection: str, formula: Formula) -> Measured:
    """The default formula with one embedder, on one collection."""
    embedder: Embedder | None = choose(name) if name not in (WORDS, MINILM) else None
    stores = data.collection(collection, formula.analyzers, embedder)
    if name == WORDS:
        stores = [store._replace(asked=tuple(map(_wordly, store.asked))) for store in stores]
    found = means(judge(by_formula(formula), stores))
    silent = [not rank(one.question, store.view, formula).ids for store in stores for one in store.asked]
    vectors = [one.question.vector for store in stores for one in store.asked if one.question.vector]
    return Measured(
        embedder=name,
        collection=collection,
        dimensions=len(vectors[0]) // 2 if vectors else 0,
        questions=len(silent),
        ndcg=found["nDCG@10"],
        recall=found["R@5"],
        silent=sum(silent) / len(silent),
        zero=float(np.mean([_zero(store) for store in stores])) if vectors else 0.0,
    )


def _wordly(asked: data.Asked) -> data.Asked:
    return asked._replace(question=msgspec.structs.replace(asked.question, vector=None))


def _zero(store: data.Store) -> float:
    """The mean cosine of the probe text with the first memories."""
    view = store.view
    adopted = view.adoptions.embedder(view.seq)
    assert adopted is not None
    rows = np.arange(min(64, len(store.texts)), dtype=np.int32)
    return float(view.vectors.cosines(from_bytes(adopted.probe), rows, at=view.seq).mean())


def table(found: Sequence[Measured]) -> str:
    """The numbers as Markdown, a row per embedder."""
    collections = list(dict.fromkeys(one.collection for one in found))
    lines = [
        "| embedder | dimensions | "
        + " | ".join(f"{name}: nDCG@10, R@5, silent, zero" for name in collections)
        + " |",
        "|---|---|" + "---|" * len(collections),
    ]
    for name in dict.fromkeys(one.embedder for one in found):
        own = {one.collection: one for one in found if one.embedder == name}
        cells = [_cell(own.get(collection)) for collection in collections]
        size = next(iter(own.values())).dimensions
        lines.append(f"| `{name}` | {size or '–'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(one: Measured | None) -> str:
    if one is None:
        return "–"
    zero = f", {one.zero:.2f}" if one.dimensions else ""
    return f"{one.ndcg:.3f}, {one.recall:.3f}, {100 * one.silent:.1f} %{zero}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("--collections", default=",".join(data.COLLECTIONS))
    given = parser.parse_args(arguments)
    if problem := data.missing():
        print(f"skipped: {problem}")
        return
    formula, found = built_in(OURS), []
    for collection in given.collections.split(","):
        for name in (WORDS, "hash", MINILM, *given.also):
            found.append(measured(name, collection, formula))
            print(_cell(found[-1]), name, collection, file=sys.stderr, flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(found)}\n\n{END}{after}", "utf-8")
    print(f"written: {RESULTS} and {PAGE}")


if __name__ == "__main__":
    main(sys.argv[1:])
