"""nDCG@10 of every BM25 variant and analyzer on BEIR SciFact (5,183 abstracts, 300 claims).

    python bench/scifact.py [folder]

Anserini's published figure for BM25 with k1 0.9, b 0.4 and Porter stems is 0.679.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import defaultdict
from pathlib import Path

from recollect.events.envelope import Recorded
from recollect.events.facts import Ingested
from recollect.projections.documents import Documents
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.bm25 import DEFAULTS, Bm25
from recollect.projections.lexical.index import Lexical

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "scifact"
PUBLISHED = 0.679
TOP = 10

Texts = dict[str, str]
Judgements = dict[str, dict[str, int]]


def read_texts(path: Path) -> Texts:
    with path.open() as lines:
        return {line["_id"]: line["text"] for line in map(json.loads, lines)}


def read_judgements(path: Path) -> Judgements:
    judgements: Judgements = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, document, grade = line.split("\t")
        judgements[query][document] = int(grade)
    return judgements


def build(corpus: Texts, analyzer: str) -> tuple[Documents, Lexical]:
    documents = Documents()
    lexical = Lexical(documents, analyzer)
    for seq, (id_, text) in enumerate(corpus.items(), start=1):
        fact = Ingested(id=id_, content=text, at=0)
        for new in documents.apply(Recorded(seq, 0, b"", "", "memory.ingested", 1, b"", fact)):
            lexical.add(new)
    return documents, lexical


def ndcg(ranked: list[str], grades: dict[str, int]) -> float:
    gain = sum(grades.get(id_, 0) / math.log2(rank + 2) for rank, id_ in enumerate(ranked))
    ideal = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(sorted(grades.values())[::-1][:TOP]))
    return gain / ideal


def evaluate(
    documents: Documents, lexical: Lexical, queries: Texts, judged: Judgements, bm25: Bm25
) -> tuple[float, float]:
    """Mean nDCG@10 and milliseconds per query."""
    total, started = 0.0, time.perf_counter()
    for query, grades in judged.items():
        hits = lexical.search(queries[query], at=documents.rows, bm25=bm25, top=TOP)
        ids = [documents.ids.values[memory] for memory in documents.memory_of[hits.rows]]
        total += ndcg(ids, grades)
    return total / len(judged), (time.perf_counter() - started) * 1000 / len(judged)


def main(folder: Path) -> None:
    if not folder.is_dir():
        print(f"skipped: there is no SciFact at {folder}")
        return
    corpus, queries = read_texts(folder / "corpus.jsonl"), read_texts(folder / "queries.jsonl")
    judged = read_judgements(folder / "qrels.tsv")
    print(f"{len(corpus)} documents, {len(judged)} queries; Anserini published {PUBLISHED}\n")
    print(f"{'analyzer':18} {'variant':8} {'k1':>4} {'b':>5} {'nDCG@10':>8} {'ms/query':>9}")
    for analyzer in ANALYZERS:
        documents, lexical = build(corpus, analyzer)
        for variant in DEFAULTS:
            bm25 = Bm25(variant=variant)
            score, milliseconds = evaluate(documents, lexical, queries, judged, bm25)
            print(f"{analyzer:18} {variant:8} {bm25.k1:4} {bm25.b:5} {score:8.4f} {milliseconds:9.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
