"""memvara: a bitemporal memory over SQLite with its own hybrid search; a text is one claim about its number.

Two things are done for it that its documentation does not ask for. Its schema needs FTS5's `secure-delete`
(SQLite 3.42), so where Python's sqlite3 is older it is given pysqlite3's. And `ANALYZE` runs after the build:
without statistics SQLite joins its tables in the order that makes a search hundreds of times slower.
"""

from __future__ import annotations

import sqlite3
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from peers import Clients, Floats

if sqlite3.sqlite_version_info < (3, 42):
    import pysqlite3

    sys.modules["sqlite3"] = pysqlite3
try:
    from memvara import Memvara, NullLLM
finally:
    sys.modules["sqlite3"] = sqlite3

PREDICATE = "note"
BATCH = 1_000


class Given:
    """An embedder that knows the vectors already."""

    name = "bench/clustered"

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.vectors: dict[str, Floats] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.stack([self.vectors[text] for text in texts])


class System:
    name: ClassVar[str] = "memvara"
    how: ClassVar[str] = "one claim per text, search(k) without rewriting; ANALYZE after the build"
    clients: ClassVar[Clients] = "processes"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "memvara.db"
        self._memory: Memvara | None = None
        self._given = Given(0)

    def build(self, texts: Sequence[str], vectors: Floats) -> None:
        memory = self._connect(vectors.shape[1])
        for first in range(0, len(texts), BATCH):
            self._given.vectors = dict(
                zip(texts[first : first + BATCH], vectors[first : first + BATCH], strict=True)
            )
            with memory.store.batch():
                for number, text in enumerate(texts[first : first + BATCH], first):
                    memory.remember(f"m{number}", PREDICATE, text, text=text)
        memory.close()
        database = sys.modules[Memvara.__module__.replace("core", "store.sqlite")].sqlite3
        with database.connect(self._path) as db:
            db.execute("ANALYZE")
        self._memory = None

    def open(self) -> None:
        self._memory = self._connect(384)

    def search(self, text: str, vector: Floats, k: int) -> list[int]:
        assert self._memory is not None
        self._given.vectors[text] = vector
        found = self._memory.search(text, k=k, query_rewrite=False)
        return [int(one.claim.subject[1:]) for one in found]

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _connect(self, dimensions: int) -> Memvara:
        self._given = Given(dimensions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Memvara(str(self._path), embedder=self._given, llm=NullLLM(), user="bench")
