"""What turns texts into vectors, seen from the engine: a name, dimensions, and `embed`.

A store remembers its embedder by name, dimensions and the vector of a probe text, so that vectors of two
embedders never meet in one ranking. The probe is compared by cosine: the same weights on another CPU differ
in the last bits, other weights differ by far more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from recollect.embedder_names import is_built_in, require_embedder
from recollect.events.errors import InvalidInput, RecollectError

__all__ = [
    "PROBE_COSINE_MIN", "PROBE_TEXT", "Elsewhere", "EmbedFunction", "Embedder", "EmbedderMismatch", "Embeddings",
    "FunctionEmbedder", "choose", "is_built_in",
]  # fmt: skip

Embeddings = npt.NDArray[np.float32]
EmbedFunction = Callable[[list[str]], npt.ArrayLike]

PROBE_TEXT = "The quick brown fox jumps over the lazy dog."
PROBE_COSINE_MIN = 0.999


class EmbedderMismatch(RecollectError):
    """The store's vectors come from another embedder."""

    def __init__(self, *, store: str, given: str, detail: str = "") -> None:
        self.store = store
        self.given = given
        super().__init__(
            f"this store's vectors come from the embedder {store!r}, but it was opened with {given!r}{detail}; "
            f"open it with {store!r}, with embedder=None (`--embedder none`, words only), or re-embed it with `recollect reembed`"
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

    def warm(self) -> None:
        """Start getting ready in the background."""
        ...

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """One vector per text; waits until ready."""
        ...


class FunctionEmbedder:
    """Any callable from a list of texts to a matrix of vectors, as an embedder."""

    def __init__(self, function: EmbedFunction) -> None:
        self._function = function
        self.name = str(getattr(function, "name", getattr(function, "__qualname__", type(function).__name__)))
        self._dimensions = 0

    @property
    def ready(self) -> bool:
        return True

    @property
    def dimensions(self) -> int:
        if not self._dimensions:
            self._dimensions = self.embed([PROBE_TEXT]).shape[1]
        return self._dimensions

    def warm(self) -> None:
        """A function is always ready."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        vectors = np.asarray(self._function(list(texts)), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InvalidInput(
                f"the embedder {self.name!r} gave an array of shape {vectors.shape} for {len(texts)} texts; "
                f"it must return one vector per text"
            )
        return vectors


class Elsewhere:
    """A store's embedder that this program does not have: whatever needs a vector of it is refused."""

    dimensions = 0
    ready = False
    state = "not here"

    def __init__(self, mismatch: EmbedderMismatch) -> None:
        self.name = mismatch.store
        self.failure = str(mismatch)
        self._mismatch = mismatch

    def warm(self) -> None:
        """Nothing will bring it here."""

    def embed(self, texts: Sequence[str]) -> Embeddings:  # noqa: ARG002 (the protocol's name)
        raise self._mismatch


def choose(embedder: str | Embedder | EmbedFunction | None) -> Embedder | None:
    """The embedder behind a name, a callable or an object."""
    if embedder is None or embedder == "none":
        return None
    if isinstance(embedder, str):
        return _named(embedder)
    if isinstance(embedder, Embedder):
        return embedder
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InvalidInput(
        f"embedder {embedder!r} is neither a name, nor None, nor a callable from texts to vectors"
    )


def _named(name: str) -> Embedder:
    require_embedder(name)
    if name.partition("/")[0] == "hash":
        from recollect.hash_embedder import HashEmbedder  # noqa: PLC0415 (each embedder loads only when asked for)

        return HashEmbedder()
    from recollect.minilm import MiniLm  # noqa: PLC0415

    return MiniLm()
