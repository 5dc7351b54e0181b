"""Recollect behind the protocol of its peers: `Memory.recall` with nothing recorded, as they record nothing.

The formula reverie retrieves as the SQLite stack does (the 100 best by words and by vector, fused by rank with
k = 30) and then applies its other six factors; `Default` is the formula that a new store has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import corpus
import stores

from peers import Clients, Floats
from recollect.engine.store import Store
from recollect.interfaces.python.memory import Memory
from recollect.query.formula import built_in


class System:
    name: ClassVar[str] = "Recollect, reverie"
    how: ClassVar[str] = "100 best by words and by vector, fused by rank (k = 30), times six factors"
    clients: ClassVar[Clients] = "processes"
    formula: ClassVar[str] = "reverie"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._memory: Memory | None = None

    def build(self, texts: Sequence[str], vectors: Floats) -> None:
        store = Store.open(self._folder, analyzers=built_in(self.formula).analyzers)
        for first in range(0, len(texts), corpus.BLOCK):
            end = first + corpus.BLOCK
            block = corpus.Block(list(texts[first:end]), corpus.on_grid(vectors[first:end]))
            if first == 0:
                store.append([stores.adoption(block)])
            store.append(stores.facts_of(block, first))
        store.catch_up()
        stores.seal(store, quiet=True)
        store.checkpoint()
        store.close()

    def open(self) -> None:
        self._given = stores.Given(self._folder)
        self._memory = Memory.open(self._folder, embedder=self._given, formula=self.formula)

    def search(self, text: str, vector: Floats, k: int) -> list[int]:
        assert self._memory is not None
        self._given.vectors[text] = vector
        return [int(hit.id[1:]) for hit in self._memory.recall(text, k=k, record=False).hits]

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None


class Default(System):
    name: ClassVar[str] = "Recollect, default formula"
    how: ClassVar[str] = (
        "stemmed words and vectors with their margins, the session around a hit, bounded metadata"
    )
    formula: ClassVar[str] = "recollect"


class Threads(System):
    name: ClassVar[str] = "Recollect, reverie, threads"
    clients: ClassVar[Clients] = "threads"


class Recording(System):
    """What an agent does: every recall and its accesses go into the log that all clients share."""

    name: ClassVar[str] = "Recollect, reverie, recording"

    def search(self, text: str, vector: Floats, k: int) -> list[int]:
        assert self._memory is not None
        self._given.vectors[text] = vector
        return [int(hit.id[1:]) for hit in self._memory.recall(text, k=k).hits]
