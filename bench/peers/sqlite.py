"""SQLite: FTS5 and sqlite-vec, the 100 best of each fused by reciprocal rank with k = 30.

This is what four of the five memory systems that our formulas come from are built on. Vectors are scanned one by
one: sqlite-vec has no index (the vectors have norm 1, so its L2 distance, which is the faster one, orders them as
the cosine does). Python's own sqlite3 is often built without extensions; apsw brings its SQLite along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import apsw
import sqlite_vec

from peers import Clients, Floats, fused

CHANNEL_TOP = 100
FUSION_K = 30.0
WORD = re.compile(r"\w+")


class System:
    name: ClassVar[str] = "SQLite FTS5 + sqlite-vec"
    how: ClassVar[str] = "apsw; 100 best by bm25 and by distance, fused by rank (k = 30)"
    clients: ClassVar[Clients] = "processes"

    def __init__(self, folder: Path) -> None:
        self._path = folder / "memory.db"
        self._db: apsw.Connection | None = None

    def build(self, texts: Sequence[str], vectors: Floats) -> None:
        db = self._connect()
        dimensions = vectors.shape[1]
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE VIRTUAL TABLE notes USING fts5(content)")
        db.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dimensions}])")
        with db:
            db.executemany("INSERT INTO notes(rowid, content) VALUES (?, ?)", enumerate(texts, 1))
            db.executemany(
                "INSERT INTO vectors(rowid, embedding) VALUES (?, ?)",
                ((number, vector.tobytes()) for number, vector in enumerate(vectors, 1)),
            )
        db.execute("INSERT INTO notes(notes) VALUES ('optimize')")
        db.close()

    def open(self) -> None:
        self._db = self._connect()
        self._db.execute("PRAGMA mmap_size = 8589934592")

    def search(self, text: str, vector: Floats, k: int) -> list[int]:
        assert self._db is not None
        words = " OR ".join(f'"{word}"' for word in WORD.findall(text))
        by_words = self._db.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (words, CHANNEL_TOP)
        )
        lexical = [row[0] for row in by_words]
        by_vectors = self._db.execute(
            "SELECT rowid FROM vectors WHERE embedding MATCH ? AND k = ?", (vector.tobytes(), CHANNEL_TOP)
        )
        near = [row[0] for row in by_vectors]
        best = fused([lexical, near], k=FUSION_K, top=k)
        for number in best:
            self._db.execute("SELECT content FROM notes WHERE rowid = ?", (number,)).fetchone()
        return [number - 1 for number in best]

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self._path))
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        return db
