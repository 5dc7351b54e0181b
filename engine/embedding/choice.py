"""The embedder behind a name, a callable or an object.

A name that comes out of a log (`from_log`) is trusted less: no key goes to its server, and nothing is downloaded.
"""

from __future__ import annotations

from recollect.engine.embedding.embedder import (
    Embedder,
    EmbeddingObject,
    EmbedFunction,
    FunctionEmbedder,
    HashEmbedder,
    ObjectEmbedder,
)
from recollect.engine.embedding.minilm import MiniLm
from recollect.engine.embedding.names import NONE, require_embedder
from recollect.engine.embedding.sentence_model import SCHEME, SentenceModel, parse_spec
from recollect.engine.validate import identifier
from recollect.events.errors import InvalidInput


def choose(
    embedder: str | EmbeddingObject | EmbedFunction | None, *, from_log: bool = False
) -> Embedder | None:
    if embedder is None or embedder == NONE:
        return None
    if isinstance(embedder, str):
        return _named(embedder, from_log=from_log)
    if isinstance(embedder, EmbeddingObject):
        identifier(embedder.name, "the embedder's name")
        return embedder if isinstance(embedder, Embedder) else ObjectEmbedder(embedder)
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InvalidInput(
        f"embedder {embedder!r} is neither a name, nor None, nor a callable from texts to vectors"
    )


def _named(name: str, *, from_log: bool) -> Embedder:
    require_embedder(name)
    if name.startswith(SCHEME):
        return SentenceModel(parse_spec(name), offline=from_log)
    if name.startswith(("http://", "https://")):
        from recollect.engine.embedding.embeddings_server import EmbeddingsServer  # noqa: PLC0415 (http takes 15 ms)

        return EmbeddingsServer(name, named_by_user=not from_log)
    return HashEmbedder() if name.partition("/")[0] == "hash" else MiniLm()
