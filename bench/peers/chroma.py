"""Chroma: dense search alone, over its HNSW index with cosine distance. It does not look at words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import chromadb
from chromadb.config import Settings

from peers import Clients, Floats

BATCH = 5_000


class System:
    name: ClassVar[str] = "Chroma, dense only"
    how: ClassVar[str] = "a persistent collection, HNSW with cosine, n_results = k; words are not searched"
    clients: ClassVar[Clients] = "threads"

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "chroma"
        self._client: chromadb.api.ClientAPI | None = None

    def build(self, texts: Sequence[str], vectors: Floats) -> None:
        collection = self._connect().create_collection(
            "notes", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        for first in range(0, len(texts), BATCH):
            end = min(first + BATCH, len(texts))
            collection.add(
                ids=[str(number) for number in range(first, end)],
                documents=list(texts[first:end]),
                embeddings=vectors[first:end],
            )

    def open(self) -> None:
        self._collection = self._connect().get_collection("notes", embedding_function=None)

    def search(self, text: str, vector: Floats, k: int) -> list[int]:  # noqa: ARG002 (dense only)
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return [int(number) for number in found["ids"][0]]

    def close(self) -> None:
        self._client = None

    def _connect(self) -> chromadb.api.ClientAPI:
        if self._client is None:
            self._client = chromadb.PersistentClient(
                str(self._folder), settings=Settings(anonymized_telemetry=False)
            )
        return self._client
