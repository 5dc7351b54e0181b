"""Which embedder a name, a callable or an object means."""

from __future__ import annotations

from recollect.engine.embedding.embedder import (
    Embedder,
    EmbeddingObject,
    EmbedFunction,
    FunctionEmbedder,
    ObjectEmbedder,
)
from recollect.engine.embedding.hash import HashEmbedder
from recollect.engine.embedding.minilm import MiniLm
from recollect.engine.embedding.names import require_embedder
from recollect.engine.validate import identifier
from recollect.events.errors import InvalidInput


def choose(embedder: str | EmbeddingObject | EmbedFunction | None) -> Embedder | None:
    """The embedder behind a name, a callable or an object."""
    if embedder is None or embedder == "none":
        return None
    if isinstance(embedder, str):
        require_embedder(embedder)
        return HashEmbedder() if embedder.partition("/")[0] == "hash" else MiniLm()
    if isinstance(embedder, EmbeddingObject):
        identifier(embedder.name, "the embedder's name")
        return embedder if isinstance(embedder, Embedder) else ObjectEmbedder(embedder)
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InvalidInput(
        f"embedder {embedder!r} is neither a name, nor None, nor a callable from texts to vectors"
    )
