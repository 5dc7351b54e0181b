"""What turns texts into vectors, seen from the engine: a name, dimensions, and `embed`; and what needs no model for it.

A store remembers its embedder by name, dimensions and the vector of a probe text, so that vectors of two
embedders never meet in one ranking. The probe is compared by cosine: the same weights on another CPU differ
in the last bits, other weights differ by far more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from recollect.events.errors import InvalidInput, RecollectError
from recollect.projections.lexical.analyzers import ANALYZERS
from recollect.projections.lexical.frozen_unicode import spaced_after_14

Embeddings = npt.NDArray[np.float32]
EmbedFunction = Callable[[list[str]], npt.ArrayLike]
EmbedTexts = Callable[[Sequence[str]], Embeddings]

PROBE_TEXT = "The quick brown fox jumps over the lazy dog."
PROBE_COSINE_MIN = 0.999
DIMENSIONS_MAX = 65_536
_WORD_WEIGHT = 1.0
_TRIGRAM_WEIGHT = 0.3
_words = ANALYZERS["unicode61-cjk/2"]


class EmbedderFailed(InvalidInput):
    """An embedder raised, or gave something else than one vector of finite numbers per text."""

    def __init__(self, name: str, problem: str) -> None:
        self.embedder = name
        super().__init__(
            f"the embedder {name!r} {problem}; it must return one vector of finite numbers per text"
        )


class EmbedderAway(RecollectError):
    """An embedder cannot be asked just now, and may be later. A recall then ranks by words and says so."""


class EmbedderMismatch(RecollectError):
    """The store's vectors come from another embedder than the one given, or from one that has no name here."""

    def __init__(self, *, store: str, given: str | None = None, detail: str = "") -> None:
        self.store = store
        self.given = given
        if given is None:
            problem = ", which is not known here by its name; give it to Memory.open in Python"
        else:
            problem = f", but it was opened with {given!r}{detail}; open it with {store!r}"
        super().__init__(
            f"this store's vectors come from the embedder {store!r}{problem}, take embedder=None (`--embedder none`, "
            f"words only), or re-embed it with `recollect reembed --embedder NAME`"
        )


@runtime_checkable
class Embedder(Protocol):
    """A source of vectors."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def ready(self) -> bool:
        """Whether `embed` answers at once."""
        ...

    @property
    def failure(self) -> str | None:
        """Why there is no model, once that is known."""
        ...

    @property
    def state(self) -> str:
        """For people: where the model is."""
        ...

    def warm(self) -> None:
        """Start getting ready in the background."""
        ...

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector per text that is kept; waits until ready."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        """One vector per question; many models read questions and texts differently."""
        ...

    def cut_note(self, texts: Sequence[str]) -> str | None:
        """How many of these texts the model does not read to their end; None if it reads all."""
        ...


class AlwaysReady(ABC):
    """An embedder that has nothing to load, and reads questions as it reads texts."""

    ready = True
    failure: str | None = None

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Embeddings: ...

    def embed_queries(self, texts: Sequence[str]) -> Embeddings:
        return self.embed(texts)

    state = "ready"

    def warm(self) -> None:  # noqa: B027 (nothing to do is what most of these do)
        """Do nothing: there is nothing to load."""

    def cut_note(self, texts: Sequence[str]) -> str | None:  # noqa: ARG002 (the protocol's name)
        return None


class FunctionEmbedder(AlwaysReady):
    """Any callable from a list of texts to a matrix of vectors, as an embedder."""

    def __init__(self, function: EmbedFunction) -> None:
        self._function = function
        self.name = str(getattr(function, "name", getattr(function, "__qualname__", type(function).__name__)))
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        if not self._dimensions:
            self._dimensions = self.embed([PROBE_TEXT]).shape[1]
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Embeddings:
        try:
            given = self._function(list(texts))
        except RecollectError:
            raise
        except Exception as error:
            raise EmbedderFailed(self.name, f"failed ({type(error).__name__}: {error})") from error
        return checked_rows(self.name, given, texts).astype(np.float32)


@runtime_checkable
class EmbeddingObject(Protocol):
    """The least that an object must have to be taken for an embedder."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Embeddings: ...


class ObjectEmbedder:
    """A program's own object with `name`, `dimensions` and `embed`, and the rest of the protocol where it has it."""

    def __init__(self, given: EmbeddingObject) -> None:
        self._given = given
        self.embed = given.embed
        self.embed_queries: EmbedTexts = getattr(given, "embed_queries", given.embed)
        self.warm: Callable[[], None] = getattr(given, "warm", lambda: None)
        self.cut_note: Callable[[Sequence[str]], str | None] = getattr(given, "cut_note", lambda _: None)

    @property
    def name(self) -> str:
        return self._given.name

    @property
    def dimensions(self) -> int:
        return self._given.dimensions

    @property
    def ready(self) -> bool:
        return bool(getattr(self._given, "ready", True))

    @property
    def failure(self) -> str | None:
        failure: str | None = getattr(self._given, "failure", None)
        return failure

    @property
    def state(self) -> str:
        return str(getattr(self._given, "state", "ready" if self.ready else "not loaded"))


def checked_rows(name: str, given: object, texts: Sequence[str]) -> npt.NDArray[np.floating | np.integer]:
    """What an embedder gave, as one row of finite numbers per text; EmbedderFailed says what it is instead."""
    try:
        rows = np.asarray(given)
    except Exception as error:  # noqa: BLE001 (ragged lists, or any error of another library's array)
        raise EmbedderFailed(name, f"gave no matrix for {len(texts)} texts ({error})") from None
    if rows.ndim != 2 or len(rows) != len(texts):
        what = f"an array of shape {rows.shape}" if rows.ndim else f"a {type(given).__name__}"
        raise EmbedderFailed(name, f"gave {what} for {len(texts)} texts")
    if rows.dtype.kind not in "iuf":
        raise EmbedderFailed(name, f"gave {rows.dtype} instead of numbers")
    if not 0 < rows.shape[1] <= DIMENSIONS_MAX:
        raise EmbedderFailed(
            name, f"gave {rows.shape[1]:,} dimensions, which are not 1 to {DIMENSIONS_MAX:,}"
        )
    with np.errstate(over="ignore"):
        whole = np.isfinite(rows.astype(np.float32)).all(axis=1) & rows.any(axis=1)
    for place in np.flatnonzero(~whole)[:1].tolist():
        what = "only zeros" if not rows[place].any() else "a number that is not finite"
        raise EmbedderFailed(name, f"gave {what} for text {place + 1} of {len(texts)} ({texts[place]!r:.60})")
    return rows


class Elsewhere(AlwaysReady):
    """A store's embedder that this program does not have: refuse what needs one of its vectors."""

    dimensions = 0
    ready = False
    state = "not here"

    def __init__(self, mismatch: EmbedderMismatch) -> None:
        self.name = mismatch.store
        self.failure = str(mismatch)
        self._mismatch = mismatch

    def embed(self, texts: Sequence[str]) -> Embeddings:  # noqa: ARG002 (the protocol's name)
        raise self._mismatch


class HashEmbedder(AlwaysReady):
    """Deterministic, with no model, for tests and for machines without one.

    Words and their character trigrams are hashed to signed positions (the hashing trick, Weinberger et al.
    2009), words weighing more than trigrams. Texts that share words or word parts come out close. Words are those of
    `unicode61-cjk/1` on Python 3.11, on every Python: characters that came after Unicode 14 separate them.
    """

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
