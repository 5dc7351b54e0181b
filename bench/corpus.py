"""The synthetic corpus that every speed is measured on: notes of Zipf-distributed words, vectors in clusters.

Deterministic: a corpus is a function of its size and its seed, made in blocks that do not depend on each other,
so a million memories need not be in memory at once. Vectors stand on the grid (`recollect.events.grid`); peers
get the same points as float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

DIMENSIONS = 384
LATENT = 32
VOCABULARY = 50_000
WORDS = 18
QUESTION_WORDS = 6
BLOCK = 1_000
GRID = 4096

Points = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float32]


class Block(NamedTuple):
    """Texts and, row by row, their vectors."""

    texts: list[str]
    points: Points


class Asked(NamedTuple):
    """A question: its text and its vector."""

    text: str
    point: Points


class Corpus:
    """`size` memories around size / 50 topics."""

    def __init__(self, size: int, seed: int = 7) -> None:
        self.size = size
        self.seed = seed
        rng = np.random.default_rng([seed, 0])
        self._lift = rng.normal(size=(LATENT, DIMENSIONS))
        self._topics = rng.normal(size=(max(size // 50, 10), LATENT))

    @cached_property
    def _words(self) -> npt.NDArray[np.str_]:
        return np.array([f"w{n:x}" for n in range(VOCABULARY)])

    @cached_property
    def _reach(self) -> npt.NDArray[np.float64]:
        """The share of all words that the first 1, 2, 3, … words of the vocabulary make up."""
        weights = 1.0 / np.arange(1, VOCABULARY + 1)
        return np.cumsum(weights) / weights.sum()

    def blocks(self, first: int = 0, end: int | None = None) -> Iterator[Block]:
        """The memories [first, end) in blocks; `first` is the beginning of one."""
        assert first % BLOCK == 0
        stop = self.size if end is None else end
        for start in range(first, stop, BLOCK):
            rng = np.random.default_rng([self.seed, 1, start // BLOCK])
            yield self._made(rng, min(BLOCK, stop - start), WORDS)

    def whole(self) -> Block:
        """All memories at once."""
        blocks = list(self.blocks())
        return Block(
            [text for block in blocks for text in block.texts],
            np.concatenate([block.points for block in blocks]),
        )

    def questions(self, count: int, part: int = 0) -> list[Asked]:
        """`count` questions about the same topics in the same words; another `part` has others."""
        made = self._made(np.random.default_rng([self.seed, 2, part]), count, QUESTION_WORDS)
        return [Asked(text, point) for text, point in zip(made.texts, made.points, strict=True)]

    def _made(self, rng: np.random.Generator, count: int, words: int) -> Block:
        picks = np.searchsorted(self._reach, rng.random((count, words)))
        return Block([" ".join(row) for row in self._words[picks]], self._points(rng, count))

    def _points(self, rng: np.random.Generator, count: int) -> Points:
        """Points around topics in a space of few dimensions, lifted into many, with a little noise.

        Sentence embeddings have an intrinsic dimension of some tens; isotropic noise in all 384 would make
        every memory outside the topic equally far, which no text is.
        """
        topics = self._topics[rng.integers(len(self._topics), size=count)]
        latent = topics + 0.5 * rng.normal(size=(count, LATENT))
        lifted = latent @ self._lift + 0.5 * rng.normal(size=(count, DIMENSIONS))
        return on_grid(lifted)


def on_grid(matrix: npt.NDArray[np.floating]) -> Points:
    """Rows normalised, multiplied by 4096 and truncated toward zero, as the engine does one by one."""
    norms = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    points: Points = np.trunc(matrix / norms * GRID).astype(np.int16)
    assert ((points.astype(np.int64) ** 2).sum(axis=1) <= GRID**2).all()
    return points


def as_floats(points: Points) -> Floats:
    """The same directions with norm 1, as peers take them."""
    floats = points.astype(np.float32)
    floats /= np.linalg.norm(floats, axis=-1, keepdims=True)
    return floats
