"""What a ranking asks of its two channels; the engine's own answer it, and so does a second opinion."""

from __future__ import annotations

from typing import Protocol

from recollect.events.grid import GridArray
from recollect.projections.bm25 import Bm25
from recollect.projections.lexical import Admit, LexicalHits
from recollect.projections.nearest import VectorHits


class LexicalChannel(Protocol):
    def search(
        self, query: str, *, at: int, bm25: Bm25, top: int, admit: Admit | None = None
    ) -> LexicalHits: ...


class VectorChannel(Protocol):
    def search(self, query: GridArray, *, at: int, top: int, admit: Admit | None = None) -> VectorHits: ...
