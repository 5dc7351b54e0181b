"""The embedder of a past moment: vectors of two embedders never meet, so a question about the past is embedded
by the embedder in force then, if this program has it, and otherwise asked by words, which the answer says."""

from __future__ import annotations

from recollect.engine.embedding.choice import choose
from recollect.engine.embedding.embedder import EmbedderMismatch
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.store import Store
from recollect.events.errors import RecollectError
from recollect.events.facts import GridVector
from recollect.projections.adoptions import Adoption


class Missing(Embedding):
    """No embedder, since the one of that moment is not at hand."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(None, None)
        self._label = label
        self._reason = reason

    @property
    def problem(self) -> str | None:
        return f"vector: the embedder then was {self._label!r}, {self._reason}; ranked by words only"


def embedding_at(store: Store, embedding: Embedding, seq: int) -> Embedding:
    """What embeds a question that is asked at `seq`."""
    adopted = store.projections.adoptions.embedder(seq)
    if embedding.embedder is None or adopted is None or adopted.label == embedding.name:
        return embedding
    return _of(adopted)


def _of(adopted: Adoption) -> Embedding:
    try:
        return Embedding(choose(adopted.label, from_log=True), adopted)
    except EmbedderMismatch:
        return Missing(adopted.label, "another version of which is installed")
    except RecollectError:
        return Missing(adopted.label, "which is not installed")


def vector_of(store: Store, embedding: Embedding, text: str, label: str) -> GridVector | None:
    """The vector that an embedder, by its name, gives to a text; None if it is not at hand."""
    if not text.strip() or embedding.embedder is None:
        return None
    if label == embedding.name:
        return embedding.vectors([text], queries=True)[0]
    adopted = store.projections.adoptions.adoption_of(label)
    return None if adopted is None else _of(adopted).vectors([text], queries=True)[0]
