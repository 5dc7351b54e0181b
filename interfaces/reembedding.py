"""reembed: every memory gets a vector of another embedder, as events, batch by batch.

`EmbedderAdopted` comes first, so that the vectors that follow are the new embedder's; rankings of the past keep
theirs. Until the last batch, questions find by meaning only what is embedded already. What is missing can be read
off the projections, so an interrupted run is taken up by the next one.

A batch is written only if nothing was appended since its texts were read. If something was, the vectors whose memory
still has that text and still lacks one are written; a memory that was revised or erased meanwhile is left out, and
what is missing then is looked for once more at the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from recollect.embedder import PROBE_COSINE_MIN, Embedder
from recollect.embedding import Embedding
from recollect.events.envelope import EventId
from recollect.events.errors import HeadMoved, InvalidInput
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


class _Text(NamedTuple):
    """The text of a memory, and the seq of the event that holds it."""

    source: int
    id: str
    text: str


def reembed(
    store: Store, embedder: Embedder, *, actor: str = "", progress: Progress | None = None
) -> ReembedReport:
    adopted = _adopt(store, embedder, actor)
    run = _Run(store, Embedding(embedder, adopted), adopted, actor)
    tried: set[int] = set()
    while waiting := [source for source in run.look() if source not in tried]:
        for start in range(0, len(waiting), _BATCH):
            run.embed(waiting[start : start + _BATCH])
            if progress:
                progress(run.embedded, run.embedded + max(0, len(waiting) - start - _BATCH))
        tried.update(waiting)
    _recentre(store, adopted, actor)
    store.sealer.start()
    return ReembedReport(
        embedder=embedder.name, adopted=adopted.seq, embedded=run.embedded, head=store.log.head
    )


class _Run:
    """What one run of `reembed` knows: what is missing at a head, and how many vectors it has written."""

    def __init__(self, store: Store, embedding: Embedding, adopted: Adoption, actor: str) -> None:
        self.embedded = 0
        self._store = store
        self._embedding = embedding
        self._adopted = adopted
        self._actor = actor
        self._head = 0

    def look(self) -> list[int]:
        """Catch up; the seqs of the texts that have no vector of the embedder, which must be in force still."""
        with self._store.lock, self._store.whole:
            self._head = self._store.catch_up()
            current = self._store.projections.engine.embedder(self._head)
            if current is None or current.seq != self._adopted.seq:
                raise InvalidInput(
                    f"another process gave the store another embedder while it was embedded with "
                    f"{self._adopted.label!r}; what was embedded stays. Run reembed again for the one that is wanted"
                )
            return _missing(self._store)

    def embed(self, sources: Sequence[int]) -> None:
        """Write the vectors of these texts, without those that are no longer wanted when it comes to it."""
        texts = _texts(self._store, sources)
        made = self._embedding.vectors([one.text for one in texts]) if texts else []
        vectors = {one: vector for one, vector in zip(texts, made, strict=True) if vector}
        while vectors:
            pairs = tuple((one.id, vector) for one, vector in vectors.items())
            try:
                fact = Reembedded(embedder=self._adopted.label, vectors=pairs)
                self._head = self._store.append([fact], actor=self._actor, expect=self._head)[-1]
            except HeadMoved:
                missing = set(self.look())
                wanted = _texts(self._store, [one.source for one in vectors if one.source in missing])
                vectors = {one: vectors[one] for one in wanted}
                continue
            self._store.catch_up()
            self.embedded += len(pairs)
            return


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


def _missing(store: Store) -> list[int]:
    """The seq of the newest text of every memory, hidden or not, that has no vector of the embedder in force."""
    documents = store.projections.documents
    newest = np.zeros(documents.memories, dtype=np.int64)
    np.maximum.at(newest, documents.memory_of, np.arange(documents.rows))
    able = store.projections.vectors.comparable(newest, at=store.projections.position)
    return [documents.source(int(row)) for row in newest[~able]]


def _texts(store: Store, sources: Sequence[int]) -> list[_Text]:
    """The texts that these events hold; one that was erased is left out."""
    facts = ((source, store.event(source).fact) for source in sources)
    return [
        _Text(source, fact.id, fact.content)
        for source, fact in facts
        if isinstance(fact, Ingested | Revised) and isinstance(fact.content, str)
    ]


def _recentre(store: Store, adopted: Adoption, actor: str) -> None:
    """Clusters of before the switch do not count after it: assign them again, around the new vectors."""
    while True:
        with store.lock, store.whole:
            head = store.catch_up()
            clustered = store.projections.graph.clustered(head)
            fact = store.event(clustered).fact if 0 < clustered < adopted.seq else None
            if not isinstance(fact, Clustered):
                return
            again = recentred(fact, store.projections)
        try:
            store.append([again], actor=actor, expect=head)
        except HeadMoved:
            continue
        store.catch_up()
        return
