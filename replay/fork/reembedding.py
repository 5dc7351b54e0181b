"""A log told again with the vectors of another embedder: texts stay, every vector is made anew.

Which embedder a fact was recorded with does not matter: one is adopted before everything else. A cluster's
centroid becomes the direction of its members' new vectors, and one that comes back (a dream was undone) is what it
had become then. As long as every vector comes out as it was recorded, clusters stay as they are. What was built of
old vectors is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import UNSET

from recollect.events.envelope import Recorded
from recollect.events.facts import (
    AnyFact,
    Cluster,
    Clustered,
    EmbedderAdopted,
    GridVector,
    Ingested,
    Question,
    Recalled,
    Reembedded,
    Revised,
    ShardRetired,
    ShardSealed,
)
from recollect.events.grid import quantize, to_bytes
from recollect.projections.view import Projections


class NewEmbedder(NamedTuple):
    """The fact that adopts it, and grid vectors for texts that are kept and for questions."""

    adoption: EmbedderAdopted
    embed: Callable[[Sequence[str]], Sequence[GridVector]]
    embed_queries: Callable[[Sequence[str]], Sequence[GridVector]]


class Retold:
    """Facts with new vectors; `prepare` embeds the texts of a window of events in one go."""

    def __init__(self, embedder: NewEmbedder) -> None:
        self._embedder = embedder
        self._name = embedder.adoption.name
        self._vectors: dict[str, GridVector] = {}
        self._asked: dict[str, GridVector] = {}
        self._centres: dict[GridVector, GridVector] = {}
        self._as_recorded = True

    def prepare(self, events: Iterable[Recorded]) -> None:
        window = list(events)
        texts = list(dict.fromkeys(text for event in window for text in _texts(event)))
        asked = list(dict.fromkeys(text for event in window for text in _questions(event)))
        self._vectors = dict(zip(texts, self._embedder.embed(texts), strict=True)) if texts else {}
        self._asked = dict(zip(asked, self._embedder.embed_queries(asked), strict=True)) if asked else {}

    def tell(self, fact: AnyFact) -> AnyFact | None:
        """The fact with new vectors; None for what only concerned the old ones."""
        match fact:
            case Reembedded():
                self._as_recorded = False
                return None
            case ShardSealed() | ShardRetired() | EmbedderAdopted():
                return None
            case Ingested(content=content) | Revised(content=str(content)):
                again = msgspec.structs.replace(fact, vector=self._vectors[content], embedder=self._name)
                self.note(fact, again)
                return again
            case Revised():
                return msgspec.structs.replace(fact, vector=UNSET, embedder=UNSET)
            case Recalled(question=question):
                return msgspec.structs.replace(fact, question=self._question(question))
            case _:
                return fact

    def centred(self, fact: Clustered, projections: Projections) -> Clustered:
        """The clusters around the new vectors of their members."""
        again = fact if self._as_recorded else recentred(fact, projections, known=self._centres)
        self.note(fact, again)
        return again

    def note(self, fact: AnyFact, again: AnyFact) -> None:
        """How a fact was told, in this run or an earlier one."""
        match fact, again:
            case (Ingested(vector=before), Ingested(vector=after)) | (
                Revised(content=str(), vector=before),
                Revised(vector=after),
            ):
                self._as_recorded = self._as_recorded and before == after
            case Clustered(clusters=clusters), Clustered(clusters=told):
                centres = {cluster.name: cluster.centroid for cluster in told}
                for cluster in clusters:
                    if cluster.centroid and cluster.name in centres:
                        self._centres.setdefault(cluster.centroid, centres[cluster.name])
            case _:
                pass

    def _question(self, question: Question) -> Question:
        """An empty text has no vector; what an expansion had is made anew."""
        vector = self._asked.get(question.text)
        expansions = question.effects.expansions and tuple(
            msgspec.structs.replace(expansion, vector=self._asked[expansion.text])
            for expansion in question.effects.expansions
        )
        effects = msgspec.structs.replace(question.effects, expansions=expansions)
        name = self._name if vector is not None else None
        return msgspec.structs.replace(question, vector=vector, embedder=name, effects=effects)


def _texts(event: Recorded) -> Iterator[str]:
    match event.fact:
        case Ingested(content=content) | Revised(content=str(content)):
            yield content
        case _:
            pass


def _questions(event: Recorded) -> Iterator[str]:
    if isinstance(event.fact, Recalled):
        question = event.fact.question
        if question.text.strip():
            yield question.text
        yield from (expansion.text for expansion in question.effects.expansions or ())


def recentred(
    fact: Clustered, projections: Projections, *, known: Mapping[GridVector, GridVector] | None = None
) -> Clustered:
    """The same clusters around the vectors that their members have now; a cluster without any is left out.

    `known` has what some centroids became before: they become the same again.
    """
    before = known or {}
    found = ((one, before.get(one.centroid) or centre_of(one, projections)) for one in fact.clusters)
    clusters = tuple(
        msgspec.structs.replace(cluster, centroid=centroid) for cluster, centroid in found if centroid
    )
    return msgspec.structs.replace(fact, clusters=clusters)


def centre_of(cluster: Cluster, projections: Projections) -> GridVector | None:
    """The direction of the sum of the vectors that a cluster's living members have now, on the grid."""
    documents, vectors = projections.documents, projections.vectors
    memories = np.array([n for id_ in cluster.members if (n := documents.ids.find(id_)) >= 0], dtype=np.int64)
    rows = documents.rows_of(memories, projections.position)
    rows = rows[rows >= 0]
    rows = rows[vectors.comparable(rows, at=projections.position)]
    points = [point for row in rows.tolist() if (point := vectors.vector(row)) is not None]
    total = np.sum(points, axis=0, dtype=np.int64) if points else np.zeros(1, np.int64)
    return to_bytes(quantize(total)) if total.any() else None
