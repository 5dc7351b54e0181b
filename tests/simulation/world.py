"""What the simulated processes share: words, embedders, the formula, what was acknowledged and what was found wrong."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from recollect.engine.embedding.embedder import Embedder, Embeddings
from recollect.events.grid import quantize, to_bytes
from recollect.projections.vectors.sealing import SealPolicy
from recollect.projections.vectors.shard_names import Builder
from recollect.query.formula import parse

WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "juniper",
    "kelp",
    "lagoon",
]
SEGMENT_BYTES = 6_000
REEMBED_BATCH = 6
OPTIONAL = (
    "upsert", "revise", "forget", "restore", "link", "access", "rate", "supersede", "erase", "erase in a cluster",
    "retain", "dream", "dream by the clock", "undream", "reembed", "checkpoint", "reopen",
)  # fmt: skip
POLICY = SealPolicy(first=16, block=8, ratio=2.0, shard_max=64)
BUILDER = Builder(M=6, ef_construction=12, ef_min=4, ef_per_100=100)  # walks graphs of a few dozen rows
FORMULA = parse(
    """
name = "simulated"
stages = [
  { op = "retrieve", channel = "lexical", top = 12 },
  { op = "retrieve", channel = "vector", top = 6 },
  { op = "fuse", channels = ["lexical", "vector"] },
  { op = "multiply", factor = "strength" },
]
""",
    origin="simulation",
)


class ToyEmbedder:
    """A dozen dimensions from the hashes of words; `thinking` is called while the model would be busy."""

    ready = True

    def __init__(self, name: str, dimensions: int, thinking: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self.dimensions = dimensions
        self._thinking = thinking

    def warm(self) -> None:
        """Nothing to load."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self._thinking()
        rows = [sum((self._word(word) for word in text.split()), np.zeros(self.dimensions)) for text in texts]
        return np.array(rows, dtype=np.float32)

    def _word(self, word: str) -> Any:
        digest = hashlib.blake2b(f"{self.name} {word}".encode(), digest_size=2 * self.dimensions).digest()
        return np.frombuffer(digest, np.int16) / 32_768

    def grid(self, text: str) -> bytes:
        return to_bytes(quantize(self.embed([text])[0], dimensions=self.dimensions))


DIMENSIONS = {"toy-a/1": 12, "toy-b/1": 10}


def embedder_named(name: str, thinking: Callable[[], None] = lambda: None) -> Embedder:
    return ToyEmbedder(name, DIMENSIONS[name], thinking)


class Acknowledged(NamedTuple):
    """An event that `append` returned."""

    seq: int
    id: bytes
    type: str
    payload: bytes
    durable: bool


class World:
    """One run's memory of what it did."""

    def __init__(self, rng: Random, folder: str) -> None:
        self.rng = rng
        self.folder = folder
        self.acknowledged: dict[int, Acknowledged] = {}
        self.texts: dict[str, list[str]] = {}
        self.erased: set[str] = set()
        self.gone: list[str] = []
        self.findings: list[str] = []
        self.scheduled: list[str] = []
        # Each run does without some operations: what one undoes at once, such as a shard by an erasure, stays longer.
        self.left_out = {name for name in OPTIONAL if rng.random() < 0.35}
        self.counts: Counter[str] = Counter()
        self._tokens = 0

    def finding(self, what: str) -> None:
        what = what.replace(self.folder, "STORE")
        if what not in self.findings:
            self.findings.append(what)

    def new_id(self) -> str:
        return f"m{len(self.texts)}"

    def some_id(self) -> str:
        return self.rng.choice(list(self.texts)) if self.texts else "m0"

    def text(self, id_: str) -> str:
        """A new text for a memory, with a word of its own that can be looked for in bytes."""
        text = self._with_a_token(self.rng.randint(2, 5))
        self.texts.setdefault(id_, []).append(text)
        return text

    def question(self) -> str:
        return self._with_a_token(2)

    def _with_a_token(self, words: int) -> str:
        self._tokens += 1
        return f"{' '.join(self.rng.choices(WORDS, k=words))} zq{self._tokens:05d}x"

    def power_was_cut(self) -> None:
        """Unsafe events after the last durable one may be gone."""
        durable = max((one.seq for one in self.acknowledged.values() if one.durable), default=0)
        self.acknowledged = {seq: one for seq, one in self.acknowledged.items() if seq <= durable}


def token_of(text: str) -> str:
    return text.rsplit(" ", 1)[1]
