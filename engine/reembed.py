"""reembed: every memory gets a vector of another embedder, as events, batch by batch.

`EmbedderAdopted` comes first, so that the vectors that follow are the new embedder's; rankings of the past keep
theirs. Until the last batch, questions find by meaning only what is embedded already. What is missing can be read
off the projections, so an interrupted run is taken up by the next one.

Texts are embedded without a lock. Whether a vector is still wanted is decided inside the append, memory by memory: one
that was revised, erased or embedded meanwhile is left out, and what is missing then is looked for once more at the
end. `Reembedded.sources` says which text each vector was made from, so that `doctor` can hold one to the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from recollect.engine.embedding.embedder import PROBE_COSINE_MIN, Embedder
from recollect.engine.embedding.store_embedder import Embedding
from recollect.engine.store import Progress, Store
from recollect.engine.torn_state import locked
from recollect.engine.writer import Writer
from recollect.events.envelope import EventId
from recollect.events.errors import InvalidInput
from recollect.events.facts import (
    Clustered,
    EmbedderAdopted,
    GridVector,
    Ingested,
    Redacted,
    Reembedded,
    Revised,
)
from recollect.events.grid import cosine_of, from_bytes
from recollect.projections.adoptions import Adoption
from recollect.replay.fork.reembedding import recentred

_BATCH = 256


class ReembedReport(msgspec.Struct, frozen=True, kw_only=True):
    """`adopted` is the seq from which the embedder is the store's; `embedded` counts the memories of this run."""

    embedder: str
    adopted: int
    embedded: int
    head: int


class TextSource(NamedTuple):
    """The text of a memory, and the seq of the event that holds it."""

    source: int
    id: str
    text: str


def reembed(writer: Writer, embedder: Embedder | None, progress: Progress | None) -> ReembedReport:
    """Give every memory a vector of this embedder, with which the writer then writes on."""
    if embedder is None:
        raise InvalidInput("re-embedding needs an embedder; name one, such as 'minilm' or 'hash'")
    store = writer.store
    adopted = _adopt(writer, embedder)
    writer.embedding = Embedding(embedder, adopted)
    embedded, tried = 0, set[int]()
    while waiting := [source for source in _waiting(store, adopted) if source not in tried]:
        for start in range(0, len(waiting), _BATCH):
            embedded += _embed(writer, adopted, waiting[start : start + _BATCH])
            if progress:
                progress(embedded, embedded + max(0, len(waiting) - start - _BATCH))
        tried.update(waiting)
    _recentre(writer, adopted)
    store.sealer.start()
    return ReembedReport(embedder=embedder.name, adopted=adopted.seq, embedded=embedded, head=store.log.head)


def _waiting(store: Store, adopted: Adoption) -> list[int]:
    """The seqs of the texts that have no vector of the embedder, which must be in force still."""
    store.catch_up()
    _require_in_force(store, adopted)
    return missing_vectors(store)


def _embed(writer: Writer, adopted: Adoption, sources: Sequence[int]) -> int:
    """Write the vectors of these texts, except those that got one, or changed, in the meantime; how many."""
    store = writer.store
    texts = _texts(store, sources)
    made = writer.embedding.vectors([one.text for one in texts]) if texts else []
    with store.deciding():
        _require_in_force(store, adopted)
        fact = reembedded(adopted, texts, made, still_missing(store, texts))
        if fact is None:
            return 0
        writer.append([fact])
    return len(fact.vectors)


def _require_in_force(store: Store, adopted: Adoption) -> None:
    current = store.projections.adoptions.embedder(store.projections.position)
    if current is None or current.seq != adopted.seq:
        raise InvalidInput(
            f"another process gave the store another embedder while it was embedded with "
            f"{adopted.label!r}; what was embedded stays. Run reembed again for the one that is wanted"
        )


def reembedded(
    adopted: Adoption, texts: Sequence[TextSource], made: Sequence[GridVector | None], wanted: Container[TextSource]
) -> Reembedded | None:  # fmt: skip
    """The fact that gives these of the texts the vectors that were made of them; None if there are none."""
    pairs = [(one, vector) for one, vector in zip(texts, made, strict=True) if vector and one in wanted]
    if not pairs:
        return None
    return Reembedded(
        embedder=adopted.label,
        vectors=tuple((one.id, vector) for one, vector in pairs),
        sources=tuple(one.source for one, _ in pairs),
    )


def _adopt(writer: Writer, embedder: Embedder) -> Adoption:
    """Make the embedder the store's own, unless it is already."""
    fact = Embedding(embedder, None).adoption()
    with writer.store.deciding() as view:
        current = view.adoptions.embedder(view.seq)
        if current is None or not _same(current, fact):
            seqs = writer.append([fact], ids=[_adoption_id(fact, current)])
            current = writer.store.projections.adoptions.embedder(seqs[-1])
    assert current is not None
    return current


def _same(adopted: Adoption, fact: EmbedderAdopted) -> bool:
    """Compare name, dimensions and the probe text's vector, which may differ in its last bits."""
    if (adopted.label, adopted.dimensions) != (fact.name, fact.dimensions):
        return False
    return cosine_of(from_bytes(adopted.probe), from_bytes(fact.probe)) >= PROBE_COSINE_MIN


def _adoption_id(fact: EmbedderAdopted, current: Adoption | None) -> EventId:
    """One event for the same switch by two processes, another one for switching back later."""
    after = current.seq if current else 0
    label = f"embedder.adopted {fact.name} {fact.dimensions} after {after}"
    return hashlib.sha256(label.encode() + fact.probe).digest()[:16]


@locked
def missing_vectors(store: Store) -> list[int]:
    """The seq of the newest text of every memory, hidden or not, that has no vector of the embedder in force."""
    documents = store.projections.documents
    newest = np.zeros(documents.memories, dtype=np.int64)
    np.maximum.at(newest, documents.memory_of, np.arange(documents.rows))
    able = store.projections.vectors.comparable(newest, at=store.projections.position)
    return [documents.source(int(row)) for row in newest[~able]]


def still_missing(store: Store, texts: Sequence[TextSource]) -> set[TextSource]:
    """Those of the texts that are their memory's newest and have no vector of the embedder in force."""
    newest = still_newest(store, texts)
    rows = np.array(list(newest.values()), dtype=np.int64)
    able = store.projections.vectors.comparable(rows, at=store.projections.position)
    return {one for one, has in zip(newest, able.tolist(), strict=True) if not has}


def still_newest(store: Store, texts: Sequence[TextSource]) -> dict[TextSource, int]:
    """Those of the texts that are their memory's newest and were not erased, with their rows."""
    documents, seq = store.projections.documents, store.projections.position
    rows = {one: documents.newest_row(documents.ids.find(one.id), seq) for one in texts}
    return {
        one: row
        for one, row in rows.items()
        if row >= 0
        and documents.source(row) == one.source
        and not isinstance(store.event(one.source).fact, Redacted)
    }


def _texts(store: Store, sources: Sequence[int]) -> list[TextSource]:
    """The texts that these events hold; one that was erased is left out."""
    facts = ((source, store.event(source).fact) for source in sources)
    return [
        TextSource(source, fact.id, fact.content)
        for source, fact in facts
        if isinstance(fact, Ingested | Revised) and isinstance(fact.content, str)
    ]


def _recentre(writer: Writer, adopted: Adoption) -> None:
    """Assign the clusters again around the new vectors; the old ones do not count any more."""
    store = writer.store
    with store.deciding() as view:
        clustered = view.graph.clusters.assigned(view.seq)
        fact = store.event(clustered).fact if 0 < clustered < adopted.seq else None
        if isinstance(fact, Clustered):
            writer.append([recentred(fact, store.projections)])
