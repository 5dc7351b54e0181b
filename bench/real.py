"""Real text where there is some: LoCoMo's turns and SciFact's abstracts, with MiniLM vectors.

The texts are read from ../shared/data, the vectors from the cache that `make eval` fills. Where either is missing
the collection is named and left out. Neither is part of the repository.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from peers import Floats, Missing
from side_by_side import Collection

DATA = Path(__file__).parents[2] / "shared" / "data"
CACHE = Path(__file__).parent / "results" / "minilm.npz"
NAMES = {"locomo-dev": "LoCoMo, turns of five conversations", "scifact": "SciFact, abstracts"}
QUESTIONS = 200
ADVERSARIAL = 5


def collections() -> Iterator[tuple[str, Collection | Missing]]:
    for folder, name in NAMES.items():
        yield name, _collection(DATA / folder, name)


def _collection(folder: Path, name: str) -> Collection | Missing:
    if not folder.is_dir():
        return Missing(f"there is no {folder}")
    texts = _lines(folder / "corpus.jsonl")
    right = _right(folder / "qrels.tsv", {one["_id"]: number for number, one in enumerate(texts)})
    asked = [one for one in _lines(folder / "queries.jsonl") if _answerable(one, right)][:QUESTIONS]
    vectors = _cached([one["text"] for one in (*texts, *asked)])
    if isinstance(vectors, Missing):
        return vectors
    questions = [(one["text"], vector) for one, vector in zip(asked, vectors[len(texts) :], strict=True)]
    kept = [one["text"] for one in texts]
    return Collection(name, kept, vectors[: len(texts)], questions, [right[one["_id"]] for one in asked])


def _cached(texts: Sequence[str]) -> Floats | Missing:
    """The vector of each text by the digest of the text, as `quality/embeddings.py` keeps them."""
    if not CACHE.is_file():
        return Missing(f"there is no {CACHE.name} with MiniLM vectors; run `make eval` first")
    with np.load(CACHE) as saved:
        keys, vectors = saved["digests"].tobytes(), saved["vectors"].astype(np.float32)
    places = {keys[32 * n : 32 * n + 32]: n for n in range(len(vectors))}
    found = [places.get(hashlib.sha256(text.encode()).digest(), -1) for text in texts]
    absent = sum(place < 0 for place in found)
    if absent:
        return Missing(
            f"{absent:,} of {len(texts):,} texts have no vector in {CACHE.name}; run `make eval` first"
        )
    return as_unit(vectors[found])


def as_unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _answerable(one: dict[str, str], right: dict[str, frozenset[int]]) -> bool:
    """LoCoMo's questions of type 5 are traps without an answer."""
    return bool(right.get(one["_id"])) and int(one.get("type", 0)) != ADVERSARIAL


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _right(path: Path, numbers: dict[str, int]) -> dict[str, frozenset[int]]:
    """Per question, the numbers of the texts that answer it."""
    found: dict[str, set[int]] = {}
    for line in path.read_text("utf-8").splitlines():
        query, document, grade = line.split("\t")
        if int(grade) > 0 and document in numbers:
            found.setdefault(query, set()).add(numbers[document])
    return {query: frozenset(documents) for query, documents in found.items()}
