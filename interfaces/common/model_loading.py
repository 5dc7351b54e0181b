"""What a server says while its model is being loaded."""

from __future__ import annotations

from recollect.engine.embedding.embedder import Embedder


def loading(embedder: Embedder | None) -> str | None:
    """What is off about a server whose model is on its way; one that failed to load says so elsewhere."""
    if embedder is None or embedder.ready or getattr(embedder, "failure", None):
        return None
    return f"vector: {embedder.name} is still loading"
