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


def embedding_at(store: Store, embedding: Embedding, seq: int) -> Embedding:
    """What embeds a question that is asked at `seq`."""
    return _of(store.projections.adoptions.embedder(seq), embedding)


def _of(adopted: Adoption | None, embedding: Embedding) -> Embedding:
    if embedding.embedder is None or adopted is None or adopted.label == embedding.name:
        return embedding
    try:
        return Embedding(choose(adopted.label, from_log=True), adopted)
    except EmbedderMismatch:
        reason = "another version of which is installed"
    except RecollectError:
        reason = "which is not installed"
    return Embedding(
        None, None, words_only=f"the embedder then was {adopted.label!r}, {reason}; ranked by words only"
    )


def vector_of(
    store: Store, embedding: Embedding, text: str, label: str
) -> tuple[GridVector | None, str | None]:
    """The vector that an embedder, by its name, gives to a question, or why it is asked by words."""
    its = _of(store.projections.adoptions.adoption_of(label), embedding)
    return its.question_vector(text, wait=True, words_instead=False)
