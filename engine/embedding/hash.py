"""hash: a deterministic embedder with no model, for tests and for machines without one.

Words and their character trigrams are hashed to signed positions (the hashing trick, Weinberger et al.
2009), words weighing more than trigrams. Texts that share words or word parts come out close. Words are those of
`unicode61-cjk/1` on Python 3.11, on every Python: characters that came after Unicode 14 separate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from recollect.engine.embedding.embedder import AlwaysReady, Embeddings
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.frozen_unicode import spaced_after_14

_WORD_WEIGHT = 1.0
_TRIGRAM_WEIGHT = 0.3
_words = ANALYZERS["unicode61-cjk/2"]


class HashEmbedder(AlwaysReady):
    name = "hash/1"
    dimensions = 256

    def embed(self, texts: Sequence[str]) -> Embeddings:
        vectors = np.zeros((len(texts), self.dimensions))
        for vector, text in zip(vectors, texts, strict=True):
            for token in _words(spaced_after_14(text)) or [text]:
                for position, weight in _positions(token):
                    vector[position] += weight
            if not vector.any():
                vector[_slot(text)[0]] = 1.0
        return vectors.astype(np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        return self.embed(texts)


@lru_cache(maxsize=65536)
def _positions(token: str) -> tuple[tuple[int, float], ...]:
    position, sign = _slot(token)
    padded = f"^{token}$"
    trigrams = {padded[i : i + 3] for i in range(len(padded) - 2)}
    parts = [(position, sign * _WORD_WEIGHT)]
    for trigram in sorted(trigrams):
        position, sign = _slot("#" + trigram)
        parts.append((position, sign * _TRIGRAM_WEIGHT))
    return tuple(parts)


def _slot(feature: str) -> tuple[int, float]:
    digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    number = int.from_bytes(digest, "little")
    return number % HashEmbedder.dimensions, 1.0 if number & 0x8000_0000 else -1.0
