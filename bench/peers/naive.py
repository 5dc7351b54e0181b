"""rank-bm25 and hnswlib as one would put them together in an afternoon, fused by reciprocal rank with k = 30.

Everything lives in memory, nothing is kept: the scores of all texts are computed for every question.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import hnswlib
import numpy as np
from rank_bm25 import BM25Okapi

from peers import Clients, Floats, fused

CHANNEL_TOP = 100
FUSION_K = 30.0


class System:
    name: ClassVar[str] = "rank-bm25 + hnswlib"
    how: ClassVar[str] = (
        "in memory; 100 best by get_scores and by knn_query (M 16, ef 200), fused by rank (k = 30)"
    )
    clients: ClassVar[Clients] = "threads"

    def __init__(self, folder: Path) -> None:  # noqa: ARG002 (keeps nothing on disk)
        self._texts: Sequence[str] = ()

    def build(self, texts: Sequence[str], vectors: Floats) -> None:
        self._texts = texts
        self._bm25 = BM25Okapi([text.lower().split() for text in texts])
        self._index = hnswlib.Index(space="cosine", dim=vectors.shape[1])
        self._index.init_index(max_elements=len(texts), M=16, ef_construction=200)
        self._index.add_items(vectors, np.arange(len(texts)))
        self._index.set_ef(200)

    def open(self) -> None:
        """`build` leaves it open."""

    def search(self, text: str, vector: Floats, k: int) -> list[int]:
        scores = self._bm25.get_scores(text.lower().split())
        lexical = np.argsort(scores)[::-1][:CHANNEL_TOP].tolist()
        labels, _ = self._index.knn_query(vector, k=CHANNEL_TOP, num_threads=1)
        best = fused([lexical, labels[0].tolist()], k=FUSION_K, top=k)
        return [number for number in best if self._texts[number] is not None]

    def close(self) -> None:
        self._texts = ()
