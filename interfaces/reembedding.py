"""reembed: every memory gets a vector of another embedder, as events, batch by batch.

`EmbedderAdopted` comes first, so that the vectors that follow are the new embedder's; rankings of the past keep
theirs. Until the last batch, questions find by meaning only what is embedded already. What is missing can be read
off the projections, so an interrupted run is taken up by the next one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
import numpy as np

from recollect.embedder import PROBE_COSINE_MIN, Embedder
from recollect.embedding import Embedding
from recollect.events.envelope import EventId
from recollect.events.facts import Clustered, EmbedderAdopted, Ingested, Reembedded, Revised
from recollect.events.grid import cosine_of, from_bytes
from recollect.projections.engine import Adoption
from recollect.replay.reembedding import recentred
from recollect.store import Progress, Store

_BATCH = 256


class ReembedReport(msgspec.Struct, frozen=True, kw_only=True):
    """`adopted` is the seq from which the embedder is the store's; `embedded` counts the memories of this run."""

    embedder: str
    adopted: int
    embedded: int
    head: int


def reembed(
    store: Store, embedder: Embedder, *, actor: str = "", progress: Progress | None = None
) -> ReembedReport:
    adopted = _adopt(store, embedder, actor)
    embedding = Embedding(embedder, adopted)
    missing = _missing(store)
    texts = _texts(store, missing)
    done = 0
    while batch := list(islice(texts, _BATCH)):
        vectors = embedding.vectors([text for _, text in batch])
        pairs = tuple((id_, vector) for (id_, _), vector in zip(batch, vectors, strict=True) if vector)
        store.append([Reembedded(embedder=embedder.name, vectors=pairs)], actor=actor)
        store.catch_up()
        done += len(batch)
        if progress:
            progress(done, len(missing))
    _recentre(store, adopted, actor)
    store.sealer.start()
    return ReembedReport(embedder=embedder.name, adopted=adopted.seq, embedded=done, head=store.log.head)


def _adopt(store: Store, embedder: Embedder, actor: str) -> Adoption:
    """Make the embedder the store's own, unless it is already."""
    current = store.projections.engine.embedder(store.catch_up())
    fact = Embedding(embedder, None).adoption()
    if current is None or not _same(current, fact):
        store.append([fact], actor=actor, ids=[_adoption_id(fact, current)])
        current = store.projections.engine.embedder(store.catch_up())
    assert current is not None
    return current


def _same(adopted: Adoption, fact: EmbedderAdopted) -> bool:
    """By name, dimensions and the vector of the probe text, which may differ in its last bits."""
    if (adopted.label, adopted.dimensions) != (fact.name, fact.dimensions):
        return False
    return cosine_of(from_bytes(adopted.probe), from_bytes(fact.probe)) >= PROBE_COSINE_MIN


def _adoption_id(fact: EmbedderAdopted, current: Adoption | None) -> EventId:
    """One event for the same switch by two processes, another one for switching back later."""
    after = current.seq if current else 0
    label = f"embedder.adopted {fact.name} {fact.dimensions} after {after}"
    return hashlib.sha256(label.encode() + fact.probe).digest()[:16]


def _missing(store: Store) -> Sequence[int]:
    """The newest row of every memory, hidden or not, that has no vector of the embedder in force."""
    with store.lock:
        documents = store.projections.documents
        newest = np.zeros(documents.memories, dtype=np.int64)
        np.maximum.at(newest, documents.memory_of, np.arange(documents.rows))
        able = store.projections.vectors.comparable(newest, at=store.projections.position)
        return [int(row) for row in newest[~able]]


def _texts(store: Store, rows: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The id and text of each row; one whose text was erased is left out."""
    documents = store.projections.documents
    for row in rows:
        fact = store.event(documents.source(row)).fact
        if isinstance(fact, Ingested | Revised) and isinstance(fact.content, str):
            yield fact.id, fact.content


def _recentre(store: Store, adopted: Adoption, actor: str) -> None:
    """Clusters of before the switch do not count after it: assign them again, around the new vectors."""
    with store.lock:
        clustered = store.projections.graph.clustered(store.projections.position)
        fact = store.event(clustered).fact if 0 < clustered < adopted.seq else None
        again = recentred(fact, store.projections) if isinstance(fact, Clustered) else None
    if again is not None:
        store.append([again], actor=actor)
        store.catch_up()
