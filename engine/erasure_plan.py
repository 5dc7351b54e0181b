"""What an erasure will overwrite: every event that holds words or vectors of some memories, and what remains of it.

The whole log is looked at, once: an erasure is rare, and nothing may be missed. An event that several of the memories
share belongs to the first of them. An earlier `Erased` event that carries the remains of such an event is overwritten
too, because those remains may hold a vector of a memory that goes now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from recollect.engine.batches import batches
from recollect.engine.store import Progress, Store
from recollect.events.envelope import encode
from recollect.events.facts import (
    AnyFact,
    Cluster,
    Erased,
    GridVector,
    MemoryId,
    Recalled,
    Redacted,
    RedactedPayload,
    Unknown,
)
from recollect.events.redaction import Recentre, stripped, without
from recollect.events.subjects import memories_of
from recollect.events.upcasts import VERSIONS
from recollect.projections.documents import Documents, Erasure
from recollect.replay.fork.reembedding import centre_of

_REMAINS_BYTES_MAX = 32 * 1024 * 1024
_PROGRESS_EVERY = 5_000


class Plan:
    """The events that hold something of these memories, and what will remain of each."""

    def __init__(self, ids: Sequence[MemoryId]) -> None:
        self.ids = ids
        self.bytes = 0
        self.recalls: list[str] = []
        self.remains: dict[int, RedactedPayload] = {}
        self._seen = 0
        self._erasures: list[int] = []
        self._place = {id_: place for place, id_ in enumerate(ids)}
        self._owned: dict[MemoryId, list[int]] = {id_: [] for id_ in ids}

    def goes_on(self, store: Store, ids: Sequence[MemoryId]) -> bool:
        """Whether this plan can be continued: for the same memories, and nothing else was erased since."""
        return list(ids) == list(self.ids) and store.log.erasures == self._erasures

    def look(self, store: Store, head: int, progress: Progress | None) -> None:
        """Look at every event up to the head that was not looked at yet."""

        def recentre(cluster: Cluster) -> GridVector:
            centre = centre_of(cluster, store.projections) or b""
            return centre if len(centre) == len(cluster.centroid) else b""

        wanted = frozenset(self.ids)
        self._erasures = list(store.log.erasures)
        for recorded in store.log.read(self._seen, head) if self.ids else ():
            if progress and recorded.seq % _PROGRESS_EVERY == 0:
                progress(recorded.seq, head)
            fact = recorded.fact
            if isinstance(fact, Unknown | Redacted):
                continue
            if isinstance(fact, Recalled):
                if wanted.intersection(fact.ids):
                    self.recalls.append(f"r{recorded.seq}")
                continue
            left = _left_of(fact, wanted, self.remains, recentre)
            if left is not None:
                self.add(recorded.seq, left, recorded.type, len(recorded.payload))
        self._seen = head

    def add(self, seq: int, fact: AnyFact, type_: str, payload_bytes: int) -> None:
        """Add an event; call it in the order of the log."""
        places = (self._place[id_] for id_ in memories_of(fact) if id_ in self._place)
        self.remains[seq] = RedactedPayload(seq=seq, payload=encode(fact), version=VERSIONS[type_])
        self._owned[self.ids[min(places, default=0)]].append(seq)
        self.bytes += payload_bytes

    def erasures(self, documents: Documents, head: int) -> list[Erasure]:
        """What the log will say was erased: of each memory from its first event on."""
        return [
            Erasure(documents.ids.find(id_), min(seqs), head + 1) for id_, seqs in self._owned.items() if seqs
        ]

    def facts(self, reason: str) -> list[Erased]:
        """One `Erased` per memory that something is left of, or more where its remains are very large."""
        return [
            fact
            for id_, seqs in self._owned.items()
            for fact in erased_facts(id_, (self.remains[seq] for seq in seqs), reason)
        ]


def erased_facts(id_: MemoryId, remains: Iterable[RedactedPayload], reason: str) -> list[Erased]:
    """One `Erased` of what remains of these events, or more where that is very large."""
    return [
        Erased(id=id_, seqs=tuple(one.seq for one in group), reason=reason, remains=tuple(group))
        for group in batches(remains, lambda one: len(one.payload), full=_REMAINS_BYTES_MAX)
    ]


def _left_of(
    fact: AnyFact, ids: Collection[MemoryId], changed: Collection[int], recentre: Recentre
) -> AnyFact | None:
    left = stripped(fact, ids, recentre)
    now = fact if left is None else left
    if isinstance(now, Erased):
        return without(now, changed) or left
    return left
