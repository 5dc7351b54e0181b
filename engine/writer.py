"""The only way to write to an open store: texts get their vectors, the first vectors bring the adoption of their
embedder along, facts are appended, and what was appended is taken in.

A decision is taken at the very head that it is written to (`append_if`, `Store.decide`). Vectors are appended only if
their embedder is the store's own at that moment: another process may have adopted one, or embedded all anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from recollect.engine.embedding.embedder import EmbedderAway
from recollect.engine.embedding.store_embedder import Embedding, adoption_event_id
from recollect.engine.formula_lookup import formula_named
from recollect.engine.memories import born, erasure_of
from recollect.engine.store import Store
from recollect.engine.torn_state import locked
from recollect.engine.validate import identifier
from recollect.events.envelope import EventId, type_name
from recollect.events.errors import HeadMoved, InvalidInput
from recollect.events.facts import AnyFact, EmbedderAdopted, FormulaAdopted, Ingested, Revised
from recollect.events.log import Durability
from recollect.projections.view import View
from recollect.query.formula import Formula

_log = logging.getLogger("recollect")
_NO_VECTORS: Mapping[str, bytes | None] = {}
EMBEDDER_ADOPTED = type_name(EmbedderAdopted)


class Writer:
    """Writes to a store as one actor, with one embedder."""

    def __init__(self, store: Store, embedding: Embedding, actor: str) -> None:
        self.store = store
        self.embedding = embedding
        self.actor = actor

    def embed(self, facts: Sequence[AnyFact], known: dict[str, bytes | None] | None = None) -> list[AnyFact]:
        """The same facts, with the vectors of the texts that they bring; one that is `known` is not made again."""
        vectors = {} if known is None else known
        texts = [text for fact in facts if (text := text_of(fact)) is not None and text not in vectors]
        if texts:
            vectors.update(zip(texts, self._vectors(texts), strict=True))
        return [self._with_vector(fact, vectors) for fact in facts]

    def _vectors(self, texts: list[str]) -> list[bytes] | list[None]:
        """The vectors of texts; None while the embedder is away, so that the texts are kept."""
        try:
            return self.embedding.vectors(texts)
        except EmbedderAway as away:
            kept = (
                "the text is kept without a vector"
                if len(texts) == 1
                else f"{len(texts)} texts are kept without vectors"
            )
            _log.warning("%s; %s until `recollect reembed --missing`", away, kept)
            return [None] * len(texts)

    def _with_vector(self, fact: AnyFact, vectors: Mapping[str, bytes | None]) -> AnyFact:
        text = text_of(fact)
        if text is None or not isinstance(fact, (Ingested, Revised)):
            return fact
        vector = vectors.get(text)
        return msgspec.structs.replace(fact, vector=vector, embedder=self.embedding.name if vector else None)

    def append(
        self,
        facts: Sequence[AnyFact],
        ids: Sequence[EventId | None] | None = None,
        *,
        expect: int | None = None,
        actor: str | None = None,
        durability: Durability = "durable",
    ) -> list[int]:
        """Append one batch and fold it; return its seqs, first that of an adoption that it needed."""
        if any(text_of(fact) is not None for fact in facts):
            return self._append_embedded(facts, ids, expect, self.actor if actor is None else actor)
        seqs = self.store.append(
            facts,
            ids=ids,
            expect=expect,
            actor=self.actor if actor is None else actor,
            durability=durability,
        )
        self.store.catch_up()
        return seqs

    def _append_embedded(
        self, facts: Sequence[AnyFact], ids: Sequence[EventId | None] | None, expect: int | None, actor: str
    ) -> list[int]:
        own = self.embedding.embedder
        facts, adoption = self._with_adoption(facts)
        event_ids = list(ids or [None] * len(facts))
        while True:
            view = self.store.view()
            self.embedding.require_same(view.adoptions.embedder(view.seq))
            batch, batch_ids = list(facts), event_ids
            if adoption and view.adoptions.embedder(view.seq) is None:
                batch, batch_ids = [adoption, *facts], [adoption_event_id(adoption), *event_ids]
            with self.store.exclusive():
                if self.store.log.positions(EMBEDDER_ADOPTED, view.seq):
                    continue  # another process adopted one since
                try:
                    seqs = self.store.append(batch, actor=actor, ids=batch_ids, expect=expect)
                except HeadMoved:
                    if expect is not None:
                        raise
                    continue  # another machine wrote since; this one claims the log now
            head = self.store.catch_up()
            if adoption:
                self.embedding = Embedding(own, self.store.projections.adoptions.embedder(head))
            return seqs

    def _with_adoption(self, facts: Sequence[AnyFact]) -> tuple[Sequence[AnyFact], EmbedderAdopted | None]:
        """The adoption that the first vectors bring along; without them if the embedder left in between."""
        embedded = any(isinstance(fact, (Ingested, Revised)) and fact.vector for fact in facts)
        if self.embedding.embedder is None or not embedded or self.embedding.adopted is not None:
            return facts, None
        try:
            return facts, self.embedding.adoption()
        except EmbedderAway as away:
            _log.warning(
                "%s; what was told is kept without vectors until `recollect reembed --missing`", away
            )
            return [self._with_vector(fact, _NO_VECTORS) for fact in facts], None

    def adopt(self, given: str | Path | Formula) -> Formula:
        """Put a formula in force; it may be named, also by the path of its file."""
        formula = formula_named(self.store, given, files=True)
        self.append(
            [FormulaAdopted(name=formula.name, digest=formula.digest, text=formula.text, in_force=True)]
        )
        return formula

    def append_if(
        self, check: Callable[[View], object], fact: AnyFact, *, durability: Durability = "durable"
    ) -> int:
        """Append one fact if `check` raises nothing at the very head that it is appended to; its seq."""

        def attempt() -> int:
            view = self.store.view()
            check(view)
            return self.append([fact], expect=view.seq, durability=durability)[-1]

        return self.store.decide(attempt)


def text_of(fact: AnyFact) -> str | None:
    """The new text that a fact brings."""
    if isinstance(fact, (Ingested, Revised)) and isinstance(fact.content, str):
        return fact.content
    return None


@locked
def require_visible(store: Store, view: View, *ids: str) -> None:
    """Refuse ids of memories that are not there, or hidden."""
    for memory_id in ids:
        memory, row = born(store, view, identifier(memory_id))
        if view.documents.alive(np.array([row]), view.seq)[0]:
            continue
        erased_at = erasure_of(store, view, row)
        if erased_at is not None:
            raise InvalidInput(
                f"memory {memory_id!r} was erased at @{erased_at}; remember it anew under this id"
            )
        hidden = view.lifecycle.state(memory, view.seq).hidden
        raise InvalidInput(f"memory {memory_id!r} is {hidden}; restore it first")
